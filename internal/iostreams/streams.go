package iostreams

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Streams are a command's standard streams. Results go to Out; everything said to the person, such as progress, hints
// and errors, goes to Err. The zero value is of no use: see [System] and [Test].
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	inTTY, outTTY, errTTY bool
}

// System returns the streams of this process.
func System() *Streams {
	return &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		inTTY: isTerminal(os.Stdin), outTTY: isTerminal(os.Stdout), errTTY: isTerminal(os.Stderr),
	}
}

// Test returns streams over buffers, none of which is a terminal until [Streams.SetTTY] says so.
func Test() (s *Streams, in, out, err *bytes.Buffer) {
	in, out, err = new(bytes.Buffer), new(bytes.Buffer), new(bytes.Buffer)
	return &Streams{In: in, Out: out, Err: err}, in, out, err
}

// SetTTY overrides which streams count as terminals.
func (s *Streams) SetTTY(in, out, err bool) { s.inTTY, s.outTTY, s.errTTY = in, out, err }

// OutTTY reports whether a person reads Out.
func (s *Streams) OutTTY() bool { return s.outTTY }

// InTTY reports whether a person types into In.
func (s *Streams) InTTY() bool { return s.inTTY }

// ErrTTY reports whether a person reads Err.
func (s *Streams) ErrTTY() bool { return s.errTTY }

// Interactive reports whether a person can be asked: someone reads Err and types into In.
func (s *Streams) Interactive() bool { return s.inTTY && s.errTTY }

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Confirm asks question; y or yes confirm, everything else, the end of the input too, declines. It returns early, with
// ctx's error, when ctx ends; a read in progress then continues until the next line, which is lost.
func (s *Streams) Confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(s.Err, "%s [y/N] ", question)
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		line, err := s.readLine()
		answers <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return false, ctx.Err()
	case a := <-answers:
		switch strings.ToLower(strings.TrimSpace(a.line)) {
		case "y", "yes":
			return true, nil
		}
		if a.err != nil { // the person sees where the cursor is
			fmt.Fprintln(s.Err)
		}
		return false, nil
	}
}

// readLine reads no further than the end of the line, so that what follows it stays in the stream.
func (s *Streams) readLine() (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := s.In.Read(b)
		if n == 1 {
			if b[0] == '\n' {
				return string(line), nil
			}
			line = append(line, b[0])
		}
		if err != nil {
			return string(line), err
		}
	}
}
