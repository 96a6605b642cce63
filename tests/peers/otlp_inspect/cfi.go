// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"encoding/binary"
	"sort"
)

// Call frame information, read for one question: is the return address undefined at an address?
// That is how a program's entry and a thread's start mark themselves as the end of the stack.

// A function's rows, FDE in the standard's words.
type frameEntry struct {
	begin, end   uint64
	info         *frameInfo
	instructions []byte
}

// What functions share, CIE in the standard's words.
type frameInfo struct {
	codeAlign     uint64
	returnColumn  uint64
	pointerFormat byte
	hasAugment    bool
	instructions  []byte
}

// cursor reads bytes of an ELF file; a read beyond the end yields 0 and sets `broken`.
type cursor struct {
	bytes   []byte
	at      int
	address uint64 // of bytes[0]
	order   binary.ByteOrder
	wide    bool // 64 bit
	broken  bool
}

func (c *cursor) take(count int) []byte {
	if count < 0 || count > len(c.bytes)-c.at {
		c.broken, c.at = true, len(c.bytes)
		return make([]byte, min(max(count, 0), 8))
	}
	c.at += count
	return c.bytes[c.at-count : c.at]
}

func (c *cursor) u8() byte    { return c.take(1)[0] }
func (c *cursor) u16() uint16 { return c.order.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return c.order.Uint32(c.take(4)) }
func (c *cursor) u64() uint64 { return c.order.Uint64(c.take(8)) }

func (c *cursor) more() bool {
	return !c.broken && c.at < len(c.bytes)
}

func (c *cursor) uleb() uint64 {
	var value uint64
	for shift := uint(0); shift < 70; shift += 7 {
		digit := c.u8()
		value |= uint64(digit&0x7f) << shift
		if digit < 0x80 {
			return value
		}
	}
	c.broken = true
	return 0
}

// pointer reads a DW_EH_PE encoded value; relative says whether its base counts.
func (c *cursor) pointer(format byte, relative bool) uint64 {
	base := uint64(0)
	if relative && format&0x70 == 0x10 {
		base = c.address + uint64(c.at)
	}
	switch format & 0x0f {
	case 0x00:
		if c.wide {
			return base + c.u64()
		}
		return base + uint64(c.u32())
	case 0x02:
		return base + uint64(c.u16())
	case 0x03:
		return base + uint64(c.u32())
	case 0x04, 0x0c:
		return base + c.u64()
	case 0x0a:
		return base + uint64(int64(int16(c.u16())))
	case 0x0b:
		return base + uint64(int64(int32(c.u32())))
	}
	c.broken = true // LEB128 is not used for code
	return 0
}

// readFrames reads a section .eh_frame; entries are sorted by address.
func readFrames(file *elf.File) []frameEntry {
	section := file.Section(".eh_frame")
	if section == nil || section.Type == elf.SHT_NOBITS {
		return nil
	}
	bytes, err := section.Data()
	if err != nil {
		return nil
	}
	var entries []frameEntry
	infos := map[int]*frameInfo{}
	all := &cursor{bytes: bytes, address: section.Addr, order: file.ByteOrder,
		wide: file.Class == elf.ELFCLASS64}
	for all.more() {
		start := all.at
		length := int(all.u32())
		if length == 0 || length == 0xffffffff || all.broken {
			break // the end; 64-bit lengths are not used in .eh_frame
		}
		idAt := all.at
		body := *all
		all.take(length)
		body.bytes = body.bytes[:all.at]
		id := int(body.u32())
		if id == 0 {
			infos[start] = readFrameInfo(&body)
		} else if info := infos[idAt-id]; info != nil {
			entries = append(entries, readFrameEntry(&body, info))
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].begin < entries[j].begin })
	return entries
}

func readFrameInfo(c *cursor) *frameInfo {
	info := &frameInfo{}
	version := c.u8()
	augmentation := ""
	for letter := c.u8(); letter != 0 && !c.broken; letter = c.u8() {
		augmentation += string(rune(letter))
	}
	info.codeAlign = c.uleb()
	c.uleb() // data alignment: offsets do not matter here
	if version == 1 {
		info.returnColumn = uint64(c.u8())
	} else {
		info.returnColumn = c.uleb()
	}
	if len(augmentation) > 0 && augmentation[0] == 'z' {
		info.hasAugment = true
		end := int(c.uleb()) + c.at
		for _, letter := range augmentation[1:] {
			switch letter {
			case 'R':
				info.pointerFormat = c.u8()
			case 'P':
				c.pointer(c.u8(), false)
			case 'L':
				c.u8()
			}
		}
		c.at = min(max(end, c.at), len(c.bytes))
	}
	info.instructions = c.bytes[c.at:]
	if c.broken {
		return nil
	}
	return info
}

func readFrameEntry(c *cursor, info *frameInfo) frameEntry {
	entry := frameEntry{info: info}
	entry.begin = c.pointer(info.pointerFormat, true)
	entry.end = entry.begin + c.pointer(info.pointerFormat, false)
	if info.hasAugment {
		c.take(int(c.uleb()))
	}
	entry.instructions = c.bytes[c.at:]
	return entry
}

// returnUndefined runs the rows up to `address` and says whether the return address is undefined
// there.
func (e frameEntry) returnUndefined(address uint64, order binary.ByteOrder, wide bool) bool {
	run := frameRun{entry: e, target: address, location: e.begin}
	run.execute(&cursor{bytes: e.info.instructions, order: order, wide: wide})
	run.initial = run.undefined
	run.execute(&cursor{bytes: e.instructions, order: order, wide: wide})
	return run.undefined
}

// The state of the one column that matters, while instructions run.
type frameRun struct {
	entry              frameEntry
	target, location   uint64
	undefined, initial bool
	saved              []bool
	done               bool
}

func (r *frameRun) advance(delta uint64) {
	r.location += delta * r.entry.info.codeAlign
	r.done = r.location > r.target
}

func (r *frameRun) rule(column uint64, undefined bool) {
	if column == r.entry.info.returnColumn {
		r.undefined = undefined
	}
}

func (r *frameRun) execute(c *cursor) {
	for c.more() && !r.done {
		operation := c.u8()
		low := uint64(operation & 0x3f)
		switch operation >> 6 {
		case 1: // advance_loc
			r.advance(low)
		case 2: // offset
			c.uleb()
			r.rule(low, false)
		case 3: // restore
			r.rule(low, r.initial)
		default:
			r.extended(c, operation)
		}
	}
}

func (r *frameRun) extended(c *cursor, operation byte) {
	switch operation {
	case 0x00: // nop
	case 0x01: // set_loc
		r.location = c.pointer(r.entry.info.pointerFormat, false)
		r.done = r.location > r.target
	case 0x02:
		r.advance(uint64(c.u8()))
	case 0x03:
		r.advance(uint64(c.u16()))
	case 0x04:
		r.advance(uint64(c.u32()))
	case 0x05, 0x09, 0x11, 0x14, 0x15, 0x2f: // offset_extended, register, val_offset and variants
		column := c.uleb()
		c.uleb()
		r.rule(column, false)
	case 0x06: // restore_extended
		r.rule(c.uleb(), r.initial)
	case 0x07: // undefined
		r.rule(c.uleb(), true)
	case 0x08: // same_value
		r.rule(c.uleb(), false)
	case 0x0a: // remember_state
		r.saved = append(r.saved, r.undefined)
	case 0x0b: // restore_state
		if last := len(r.saved) - 1; last >= 0 {
			r.undefined, r.saved = r.saved[last], r.saved[:last]
		}
	case 0x0c, 0x12: // def_cfa
		c.uleb()
		c.uleb()
	case 0x0d, 0x0e, 0x13, 0x2e: // def_cfa_register, def_cfa_offset, GNU_args_size
		c.uleb()
	case 0x0f: // def_cfa_expression
		c.take(int(c.uleb()))
	case 0x10, 0x16: // expression, val_expression
		column := c.uleb()
		c.take(int(c.uleb()))
		r.rule(column, false)
	case 0x2d: // GNU_window_save, AARCH64_negate_ra_state
	default:
		c.broken = true
	}
}
