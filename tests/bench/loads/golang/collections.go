// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sort"
	"strings"
)

var syllables = []string{"ka", "lo", "mi", "nu", "re", "so", "ti", "va"}

func countWords(random *random, sum *checksum) {
	var words []string
	for i := 0; i < 300; i++ {
		word := ""
		for length := 1 + random.next()%3; length > 0; length-- {
			word += syllables[random.next()&7]
		}
		words = append(words, word)
	}
	counts := map[string]uint32{}
	for _, word := range strings.Split(strings.Join(words, " "), " ") {
		counts[word]++
	}
	unique := make([]string, 0, len(counts))
	for word := range counts {
		unique = append(unique, word)
	}
	sort.Slice(unique, func(i, j int) bool {
		left, right := unique[i], unique[j]
		if counts[left] != counts[right] {
			return counts[left] > counts[right]
		}
		return left < right
	})
	for _, word := range unique {
		sum.fold(counts[word])
		sum.fold(uint32(word[len(word)-1]))
	}
}

func isFree(columns []int, column int) bool {
	for index, other := range columns {
		distance := other - column
		if distance < 0 {
			distance = -distance
		}
		if distance == 0 || distance == len(columns)-index {
			return false
		}
	}
	return true
}

func placeQueens(size int, columns []int) uint32 {
	if len(columns) == size {
		return 1
	}
	solutions := uint32(0)
	for column := 0; column < size; column++ {
		if isFree(columns, column) {
			more := append(append([]int{}, columns...), column)
			solutions += placeQueens(size, more)
		}
	}
	return solutions
}

type tree struct {
	value       uint32
	left, right *tree
}

func (t *tree) insert(value uint32) *tree {
	if t == nil {
		return &tree{value: value}
	}
	if value < t.value {
		t.left = t.left.insert(value)
	} else {
		t.right = t.right.insert(value)
	}
	return t
}

// The depth of the tree.
func (t *tree) fold(sum *checksum) uint32 {
	if t == nil {
		return 0
	}
	depth := t.left.fold(sum)
	sum.fold(t.value)
	if right := t.right.fold(sum); right > depth {
		depth = right
	}
	return depth + 1
}

func fillTree(random *random, sum *checksum) {
	var root *tree
	for i := 0; i < 150; i++ {
		root = root.insert(random.next())
	}
	sum.fold(root.fold(sum))
}
