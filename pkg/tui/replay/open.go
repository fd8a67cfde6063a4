package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// MaxBytes is how large a recording may be: it is played from memory.
const MaxBytes = 256 << 20

// Open reads the recording in a file. Its errors name the file, and the line if it is one. A last line that is cut off, as
// in a file that was copied while it was written to, is left out, and [Player.Note] says so.
func Open(path string) (*Player, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > MaxBytes { // before it has been read that far
		return nil, tooLarge(path, MaxBytes)
	}
	return Read(path, f)
}

// Read reads a recording to its end; name is what errors call it. See [Open].
func Read(name string, r io.Reader) (*Player, error) { return read(name, r, MaxBytes) }

func read(name string, r io.Reader, limit int64) (*Player, error) {
	p := &Player{}
	in := &input{r: r, left: limit}
	err := api.ReadRecording(in, func(about api.Recording) error {
		p.about = about
		return nil
	}, func(line api.Recorded) error {
		if n := len(p.lines); line.Time.IsZero() && n > 0 { // it does not say: then with the one before
			line.Time = p.lines[n-1].Time
		}
		p.lines = append(p.lines, line)
		return nil
	})
	if err != nil && !in.cutOff(len(p.lines)) {
		if errors.Is(err, errTooLarge) {
			return nil, tooLarge(name, limit)
		}
		return nil, &readError{name, err}
	}
	if err != nil {
		p.note = fmt.Sprintf("%s: line %d, the last, is cut off, and left out", name, in.lines+1)
	}
	p.ordered()
	return p, nil
}

// readError says file:line: where the error it is made of says line.
type readError struct {
	name string
	err  error
}

func (e *readError) Error() string {
	if rest, ok := strings.CutPrefix(e.err.Error(), "line "); ok {
		return e.name + ":" + rest
	}
	return e.name + ": " + e.err.Error()
}

func (e *readError) Unwrap() error { return e.err }

func tooLarge(name string, limit int64) error {
	return fmt.Errorf("%s: %w: it is more than %d MiB; record a shorter time", name, errTooLarge, limit>>20)
}

var errTooLarge = errors.New("too large to be played")

// input counts lines, to know the last of them, and does not read more than it may.
type input struct {
	r     io.Reader
	left  int64
	lines int  // that have an end
	open  bool // after the last end there was something more
	ended bool
}

func (in *input) Read(b []byte) (int, error) {
	if in.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(b)) > in.left+1 {
		b = b[:in.left+1]
	}
	n, err := in.r.Read(b)
	in.left -= int64(n)
	if in.lines += bytes.Count(b[:n], []byte{'\n'}); n > 0 {
		in.open = b[n-1] != '\n'
	}
	in.ended = err == io.EOF
	if in.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// cutOff tells whether the line after a head and so many good ones is the last, and has no end.
func (in *input) cutOff(good int) bool {
	if good == 0 && in.lines == 0 {
		return false // not even the head
	}
	for b := make([]byte, 32<<10); !in.ended; {
		if _, err := in.Read(b); err != nil && !errors.Is(err, io.EOF) {
			return false
		}
	}
	return in.open && in.lines == 1+good
}
