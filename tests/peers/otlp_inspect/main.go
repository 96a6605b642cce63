// SPDX-License-Identifier: Apache-2.0

// inspect reads OTLP profiles from files, single requests or streams of them as the Collector's
// file exporter writes them, and says what they hold: counts and how complete the stacks are, when
// each process was seen first, or every observation as a line of text.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
)

// Where programs and libraries lie that mappings name without a path.
var systemRoots = []string{"/usr/lib", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/local", "/lib64", "/opt"}

type rootList []string

func (r *rootList) String() string { return fmt.Sprint(*r) }

func (r *rootList) Set(value string) error {
	*r = append(*r, value)
	return nil
}

func main() {
	asText := flag.Bool("text", false, "print a line for each observation")
	sorted := flag.Bool("sort", false, "with --text: sort the lines, bytewise")
	asSummary := flag.Bool("summary", false, "print counts as JSON (default)")
	asProcesses := flag.Bool("processes", false, "print the processes, and when each was seen first, as JSON")
	from := flag.Uint64("from", 0, "leave out observations before this time, Unix nanoseconds")
	to := flag.Uint64("to", math.MaxUint64, "leave out observations from this time on")
	var roots rootList
	flag.Var(&roots, "file-root", "look here too for profiled programs and libraries; may be repeated")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: inspect [--summary | --processes | --text [--sort]] [--from NS] [--to NS] "+
			"[--file-root DIRECTORY]... FILE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	print := printCounts
	chosen := 0
	for _, one := range []struct {
		wanted bool
		print  printer
	}{{*asSummary, printCounts}, {*asProcesses, printList}, {*asText, textPrinter(*sorted)}} {
		if one.wanted {
			print = one.print
			chosen++
		}
	}
	if flag.NArg() == 0 || chosen > 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(print, window{*from, *to}, append(roots, systemRoots...)); err != nil {
		fmt.Fprintf(os.Stderr, "inspect: %v\n", err)
		os.Exit(1)
	}
}

func run(print printer, window window, roots []string) error {
	var requests []request
	cutBytes := 0
	for _, path := range flag.Args() {
		read, cut, err := readRequests(path)
		if err != nil {
			return err
		}
		if cut > 0 {
			fmt.Fprintf(os.Stderr, "inspect: %s: the last %d bytes are no whole request\n", path, cut)
		}
		requests = append(requests, read...)
		cutBytes += cut
	}
	return print(input{requests, cutBytes, newFiles(roots), window})
}

// What was read, and what of it counts.
type input struct {
	requests []request
	cutBytes int
	files    *files
	window   window
}

type printer func(input) error

func printCounts(in input) error {
	summary, err := summarize(in.requests, in.files, in.window)
	if err != nil {
		return err
	}
	summary.CutBytes = in.cutBytes
	return printSummary(os.Stdout, summary)
}

func printList(in input) error {
	processes, err := listProcesses(in.requests, in.files, in.window)
	if err != nil {
		return err
	}
	return printProcesses(os.Stdout, processes)
}

func textPrinter(sorted bool) printer {
	return func(in input) error {
		return printText(os.Stdout, in.requests, in.window, sorted)
	}
}
