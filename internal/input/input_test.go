package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("12345"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		max  int64
		want string
		err  string
	}{
		{file, 5, "12345", ""},
		{file, 4, "", "is longer than 4 bytes"},
		{filepath.Join(dir, "none"), 5, "", "no such file"},
		{dir, 5, "", "is a directory"},
		{pipe, 5, "", "is a pipe that nothing is written to"},
		{os.DevNull, 5, "", ""},
	} {
		data, err := File(tc.name, tc.max)
		if string(data) != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s, %d: %q, %v; want %q, %q", tc.name, tc.max, data, err, tc.want, tc.err)
		}
	}
}

// A file without an end takes no more memory than a file may have.
func TestFileWithoutAnEnd(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there is no /dev/zero here")
	}
	before := allocated()
	_, err := File("/dev/zero", MaxFile)
	if tooLarge := (*TooLarge)(nil); !errors.As(err, &tooLarge) || err.Error() != "is longer than 8 MiB" {
		t.Error(err)
	}
	if took := allocated() - before; took > 8*MaxFile { // what growing a slice to that size takes
		t.Errorf("took %d bytes", took)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A pipe that has a writer is read to its end, however late that writes.
func TestPipeWithAWriter(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	name := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	if _, err := os.Stat(name); err != nil {
		t.Skip("there is no /dev/fd here")
	}
	written := make(chan error, 1)
	go func() {
		_, err := w.WriteString("from a process")
		written <- errors.Join(err, w.Close())
	}()
	data, err := File(name, MaxFile)
	if string(data) != "from a process" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestReader(t *testing.T) {
	for _, tc := range []struct {
		length int
		ok     bool
	}{{0, true}, {9, true}, {10, true}, {11, false}, {1000, false}} {
		data, err := io.ReadAll(Reader(bytes.NewReader(make([]byte, tc.length)), "the manifest", 10))
		if (err == nil) != tc.ok || len(data) != min(tc.length, 10) {
			t.Errorf("%d: %d bytes, %v", tc.length, len(data), err)
		}
		if err != nil && err.Error() != "the manifest is longer than 10 bytes" {
			t.Error(err)
		}
	}
}
