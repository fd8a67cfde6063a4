package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxFile is how many bytes a file that a person writes may have: room for more than ten thousand VMs written out one by one.
const MaxFile = 8 << 20

// TooLarge is the error for what is longer than it may be.
type TooLarge struct {
	// What it is: "the manifest".
	What string
	Max  int64
}

// Error says what is longer than what.
func (e *TooLarge) Error() string {
	if e.What == "" {
		return "is longer than " + Size(e.Max)
	}
	return e.What + " is longer than " + Size(e.Max)
}

// Size is a limit in words: "8 MiB".
func Size(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// File reads a file that a user named, at most limit bytes of it. It does not wait for a writer that a pipe does not have.
// The error is a [*TooLarge] for more than that, else one of type [*fs.PathError] that names the file.
func File(name string, limit int64) ([]byte, error) {
	data, err := Head(name, limit+1)
	if int64(len(data)) > limit {
		return nil, &TooLarge{"", limit}
	}
	return data, err
}

// Head is [File] for a reader that says for itself what is too long: it returns the first bytes of a file, at most so many.
func Head(name string, most int64) ([]byte, error) {
	// Not blocking: opening a pipe would wait for its first writer. Reading one that has a writer still does wait for it.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from: closing cannot lose anything
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err == nil && len(data) == 0 && most > 0 && info.Mode()&fs.ModeNamedPipe != 0 {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is a pipe that nothing is written to")}
	}
	return data, err
}

// ReadAll reads all of a stream, at most limit bytes; what names it in the error, a [*TooLarge], for more than that.
func ReadAll(r io.Reader, what string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &TooLarge{what, limit}
	}
	return data, err
}

// Reader returns a reader of r that fails with a [*TooLarge] at the byte after the limit.
func Reader(r io.Reader, what string, limit int64) io.Reader { return &reader{r, what, limit, limit} }

type reader struct {
	r           io.Reader
	what        string
	limit, left int64
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// One byte more than there may be distinguishes the end of the stream from the limit.
	n, err := r.r.Read(p[:min(int64(len(p)), r.left+1)])
	if int64(n) > r.left {
		n, err = int(r.left), &TooLarge{r.what, r.limit}
	}
	r.left -= int64(n)
	return n, err
}

// Plain is an error of reading a file without the operation and the path, which the message around it names.
func Plain(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
