// SPDX-License-Identifier: Apache-2.0

//go:build go1.18
// +build go1.18

package main

type list[T any] struct{ items []T }

//go:noinline
func (l *list[T]) each(f func(T)) {
	for _, item := range l.items {
		f(item)
	}
}

func (l *list[T]) first() T {
	burn()
	return l.items[0]
}

//go:noinline
func mapAll[K comparable, V any](from map[K]V, f func(K, V)) {
	for key, item := range from {
		f(key, item)
	}
}

func inlinedGeneric[T any](item T) T {
	burn()
	return item
}

type named string

func generics() {
	numbers := list[int]{[]int{1}}
	numbers.each(func(int) { burn() })
	texts := list[named]{[]named{"a"}}
	texts.each(func(named) { inner() })
	_ = texts.first()
	mapAll(map[named][]int{"a": nil}, func(named, []int) { burn() })
	sink += uint64(inlinedGeneric(3))
	_ = inlinedGeneric(texts)
}

func init() { ways = append(ways, generics) }
