// SPDX-License-Identifier: Apache-2.0

// The round of README.md in Go: `golang_work ROUNDS GOROUTINES`, so many of them a unit.
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
)

func workRound() uint32 {
	random := &random{state: 42}
	sum := newChecksum()
	evaluateExpressions(random, sum)
	countWords(random, sum)
	sum.fold(placeQueens(6, nil))
	fillTree(random, sum)
	return sum.value
}

func workUnit(rounds int) uint32 {
	result := workRound()
	for i := 1; i < rounds; i++ {
		if workRound() != result {
			log.Fatal("golang_work: rounds differ")
		}
	}
	return result
}

func workForever(rounds int) {
	for {
		if _, err := os.Stdout.WriteString(fmt.Sprintf("%08x\n", workUnit(rounds))); err != nil {
			log.Fatal(err)
		}
	}
}

func main() {
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	workers, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for i := 1; i < workers; i++ {
		go workForever(rounds)
	}
	workForever(rounds)
}
