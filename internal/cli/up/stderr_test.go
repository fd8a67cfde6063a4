package up

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// breaking takes one write, and fails one.
type breaking struct{ bytes.Buffer }

func (b *breaking) Write(p []byte) (int, error) {
	if b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), []byte("!")) {
		b.WriteByte('!')
		return 0, errors.New("broken")
	}
	return b.Buffer.Write(p)
}

func TestStickyWriter(t *testing.T) {
	var b breaking
	v := &stickyWriter{w: &b}
	for n := range 4 {
		_, err := fmt.Fprint(v, n)
		if (err != nil) != (n > 0) {
			t.Errorf("write %d: %v", n, err)
		}
	}
	if b.String() != "0!" {
		t.Errorf("written: %q", b.String())
	}
}
