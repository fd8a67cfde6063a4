package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func du(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "shkamcx", "d", nil)
	if !ok {
		return 1
	}
	if len(operands) == 0 {
		operands = []string{"."}
	}
	code := 0
	for _, name := range operands {
		var total int64
		err := pr.walk(ctx, name, 0, func(_ string, info fs.FileInfo, _ int) error {
			if info.Mode().IsRegular() {
				total += info.Size()
			}
			return nil
		})
		if err != nil {
			code = pr.fail("du", err)
			continue
		}
		shown := strconv.FormatInt((total+1023)/1024, 10)
		if has(set, 'h') {
			shown = size(total, true)
		}
		fmt.Fprintf(pr.stdout, "%s\t%s\n", shown, name)
	}
	return code
}

func df(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "hkPTm", "", nil)
	if !ok {
		return 1
	}
	var shown []*Mount
	for _, name := range operands {
		place, err := pr.p.Files.resolve(pr.dir, name, true)
		if err == nil {
			_, err = place.lstat()
		}
		if err != nil {
			return pr.fail("df", pathError("df", name, err))
		}
		shown = append(shown, place.mount)
	}
	if len(operands) == 0 {
		for i := range pr.p.Files.mounts {
			shown = append(shown, &pr.p.Files.mounts[len(pr.p.Files.mounts)-1-i])
		}
	}
	unit := "1K-blocks"
	if has(set, 'h') {
		unit = "Size"
	}
	fmt.Fprintf(pr.stdout, "%-20s %10s %10s %10s %4s %s\n", "Filesystem", unit, "Used", "Available", "Use%", "Mounted on")
	show := func(n int64) string {
		if has(set, 'h') {
			return size(n, true)
		}
		return strconv.FormatInt(n/1024, 10)
	}
	for _, m := range shown {
		if m.Usage == nil {
			continue
		}
		device, total, used, err := m.Usage()
		if err != nil {
			return pr.fail("df", pathError("df", m.Path, err))
		}
		percent := int64(0)
		if total > 0 {
			percent = (used*100 + total - 1) / total
		}
		fmt.Fprintf(pr.stdout, "%-20s %10s %10s %10s %3d%% %s\n", device, show(total), show(used), show(max(0, total-used)), percent, m.Path)
	}
	return 0
}

func dd(ctx context.Context, pr *process, args []string) int {
	values := map[string]string{"bs": "512"}
	for _, a := range args[1:] {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			return pr.fail("dd", fmt.Errorf("unrecognized operand '%s'", a))
		}
		values[name] = value
	}
	number := func(name string, without int64) int64 {
		v, ok := values[name]
		if !ok {
			return without
		}
		n, err := count(v)
		if err != nil {
			pr.fail("dd", err)
			return -2
		}
		return n
	}
	block, blocks, skip, seek := number("bs", 512), number("count", -1), number("skip", 0), number("seek", 0)
	if block == -2 || blocks == -2 || skip == -2 || seek == -2 || block == 0 {
		return 1
	}
	if block > 16<<20 {
		return pr.fail("dd", fmt.Errorf("memory exhausted by input buffer of size %d bytes", block))
	}
	in := pr.stdin
	if name := values["if"]; name != "" {
		f, err := pr.open(name)
		if err != nil {
			return pr.fail("dd", err)
		}
		defer f.Close()
		in = f
	}
	if in == nil {
		in = strings.NewReader("")
	}
	out := pr.stdout
	if name := values["of"]; name != "" {
		flag := os.O_WRONLY | os.O_CREATE
		if !strings.Contains(values["conv"], "notrunc") && seek == 0 {
			flag |= os.O_TRUNC
		}
		f, err := pr.p.Files.Open(pr.dir, name, flag, 0o644)
		if err != nil {
			return pr.fail("dd", err)
		}
		defer f.Close()
		if s, ok := f.(io.Seeker); ok && seek > 0 {
			if seek > fileBytes/block {
				return pr.fail("dd", pathError("seek", name, syscall.EFBIG))
			}
			if _, err := s.Seek(seek*block, io.SeekStart); err != nil {
				return pr.fail("dd", named(name, err))
			}
		}
		out = f
	}
	if skip > 0 {
		if err := copyAll(ctx, io.Discard, io.LimitReader(in, skip*block)); err != nil {
			return pr.fail("dd", err)
		}
	}
	started := time.Now()
	buf := make([]byte, block)
	var whole, part, total int64
	var failed error
	for n := int64(0); blocks < 0 || n < blocks; n++ {
		got, err := io.ReadFull(in, buf)
		if got > 0 {
			if err := moved(ctx, got); err != nil {
				failed = err
				break
			}
			if int64(got) == block {
				whole++
			} else {
				part++
			}
			w, err := out.Write(buf[:got])
			total += int64(w)
			if err != nil {
				failed = err
				break
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				failed = err
			}
			break
		}
	}
	if values["status"] != "none" {
		fmt.Fprintf(pr.stderr, "%d+%d records in\n%d+%d records out\n", whole, part, whole, part)
		if values["status"] != "noxfer" {
			fmt.Fprintf(pr.stderr, "%d bytes copied, %.6f seconds\n", total, time.Since(started).Seconds())
		}
	}
	if failed != nil {
		return pr.fail("dd", named(values["of"], failed))
	}
	return 0
}
