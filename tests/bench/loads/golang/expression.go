// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strconv"
	"strings"
)

const mask = 0x7fffffff

var errDivision = errors.New("division by zero")

type random struct {
	state uint32
}

func (r *random) next() uint32 {
	r.state = (r.state*1103515245 + 12345) & mask
	return r.state >> 16
}

type checksum struct {
	value uint32
}

func newChecksum() *checksum {
	return &checksum{value: 2166136261}
}

func (c *checksum) fold(value uint32) {
	for shift := 0; shift < 32; shift += 8 {
		c.value = (c.value ^ value>>shift&0xff) * 16777619
	}
}

type node interface {
	evaluate() uint32
}

type number uint32

func (n number) evaluate() uint32 {
	return uint32(n)
}

type binary struct {
	left, right node
	apply       func(left, right uint32) uint32
}

func (b *binary) evaluate() uint32 {
	left := b.left.evaluate()
	return b.apply(left, b.right.evaluate()) & mask
}

func add(left, right uint32) uint32      { return left + right }
func subtract(left, right uint32) uint32 { return left - right }
func multiply(left, right uint32) uint32 { return left * right }

func divide(left, right uint32) uint32 {
	if right == 0 {
		panic(errDivision)
	}
	return left / right
}

var operations = map[byte]func(left, right uint32) uint32{
	'+': add, '-': subtract, '*': multiply, '/': divide,
}

func printExpression(random *random, depth uint32, text *strings.Builder) {
	if depth == 0 {
		text.WriteString(strconv.Itoa(int(random.next() % 100)))
		return
	}
	operator := "+-*/"[random.next()&3]
	text.WriteByte('(')
	printExpression(random, depth-1, text)
	text.WriteByte(operator)
	limit := depth
	if limit > 4 {
		limit = 4
	}
	printExpression(random, random.next()%limit, text)
	text.WriteByte(')')
}

type parser struct {
	text     string
	position int
}

func (p *parser) peek() byte {
	if p.position < len(p.text) {
		return p.text[p.position]
	}
	return 0
}

func (p *parser) expression() node {
	return p.chain("+-", p.term)
}

func (p *parser) term() node {
	return p.chain("*/", p.factor)
}

func (p *parser) chain(operators string, operand func() node) node {
	left := operand()
	for strings.IndexByte(operators, p.peek()) >= 0 {
		apply := operations[p.peek()]
		p.position++
		left = &binary{left: left, right: operand(), apply: apply}
	}
	return left
}

func (p *parser) factor() node {
	if p.peek() != '(' {
		return p.number()
	}
	p.position++
	inner := p.expression()
	p.position++
	return inner
}

func (p *parser) number() node {
	start := p.position
	for p.peek() >= '0' && p.peek() <= '9' {
		p.position++
	}
	value, err := strconv.Atoi(p.text[start:p.position])
	if err != nil {
		panic(err)
	}
	return number(value)
}

func evaluate(text string) (value uint32) {
	defer func() {
		switch reason := recover(); reason {
		case nil:
		case errDivision:
			value = 77
		default:
			panic(reason)
		}
	}()
	p := parser{text: text}
	return p.expression().evaluate()
}

func evaluateExpressions(random *random, sum *checksum) {
	for i := 0; i < 12; i++ {
		var text strings.Builder
		printExpression(random, 14, &text)
		sum.fold(evaluate(text.String()))
	}
}
