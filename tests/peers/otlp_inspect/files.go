// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files that mappings name, found on this machine: at the path itself, at an executable's path that
// a resource gives, or by name and build id below the roots. The two profilers differ in what they
// write as a file name, a path or the last part of it.
type files struct {
	roots       []string
	executables map[string][]string   // last part of the name: paths
	index       map[string][]string   // the same, of everything below the roots; nil: not walked yet
	found       map[fileKey]*elfRoots // nil: not found
}

type fileKey struct {
	name, gnu, htlhash string
}

// isFile is false for pseudo files ([vdso], //anon) and code without any.
func (k fileKey) isFile() bool {
	return k.name != "" && k.name[0] != '[' && !strings.HasPrefix(k.name, "//")
}

func newFiles(roots []string) *files {
	return &files{roots: roots, executables: map[string][]string{}, found: map[fileKey]*elfRoots{}}
}

// addExecutable remembers where a program lies, and its libraries beside it.
func (f *files) addExecutable(path string) {
	name := filepath.Base(path)
	for _, known := range f.executables[name] {
		if known == path {
			return
		}
	}
	f.executables[name] = append(f.executables[name], path)
}

func (f *files) addExecutables(requests []request) {
	for _, one := range requests {
		for _, resource := range one.profiles.ResourceProfiles().All() {
			path, found := resource.Resource().Attributes().Get("process.executable.path")
			if found {
				f.addExecutable(path.AsString())
			}
		}
	}
}

func (f *files) walk() {
	roots := f.roots
	for _, paths := range f.executables {
		for _, path := range paths {
			folder := filepath.Dir(path)
			roots = append(roots, folder)
			if filepath.Base(folder) == "bin" {
				roots = append(roots, filepath.Join(folder, "../lib"))
			}
		}
	}
	f.index = map[string][]string{}
	seen := map[string]bool{}
	for _, root := range roots {
		resolved, err := filepath.EvalSymlinks(root)
		if err != nil || seen[resolved] || resolved == "/" {
			continue
		}
		seen[resolved] = true
		filepath.WalkDir(resolved, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				f.index[entry.Name()] = append(f.index[entry.Name()], path)
			}
			return nil
		})
	}
}

// open is where stacks end in the file; nil when it cannot be found.
func (f *files) open(key fileKey) *elfRoots {
	if result, known := f.found[key]; known {
		return result
	}
	result := f.search(key)
	f.found[key] = result
	return result
}

func (f *files) search(key fileKey) *elfRoots {
	name := filepath.Base(key.name)
	candidates := append([]string{}, f.executables[name]...)
	if filepath.IsAbs(key.name) {
		candidates = append([]string{key.name}, candidates...)
	}
	if result := firstMatch(candidates, key); result != nil {
		return result
	}
	if f.index == nil {
		f.walk()
	}
	return firstMatch(f.index[name], key)
}

func firstMatch(paths []string, key fileKey) *elfRoots {
	for _, path := range paths {
		if !matches(path, key) {
			continue
		}
		if result, err := readRoots(path); err == nil {
			return result
		}
	}
	return nil
}

// matches compares the build ids, as far as the profile has any.
func matches(path string, key fileKey) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if key.htlhash != "" {
		return headTailHash(path) == key.htlhash
	}
	return key.gnu == "" || gnuBuildID(path) == key.gnu
}

// headTailHash is process.executable.build_id.htlhash: half of the SHA-256 of the first and the
// last 4096 bytes and the length.
func headTailHash(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	hash := sha256.New()
	io.Copy(hash, io.NewSectionReader(file, 0, 4096))
	io.Copy(hash, io.NewSectionReader(file, max(size-4096, 0), 4096))
	binary.Write(hash, binary.BigEndian, uint64(size))
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

func gnuBuildID(path string) string {
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	section := file.Section(".note.gnu.build-id")
	if section == nil {
		return ""
	}
	note, err := section.Data()
	if err != nil || len(note) < 16 || !bytes.Equal(note[12:16], []byte("GNU\x00")) {
		return ""
	}
	return hex.EncodeToString(note[16:])
}
