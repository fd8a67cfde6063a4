package artifacts

import (
	"bufio"
	"errors"
	"io"
)

// lines calls f for each line of r with its line break, and for pieces of 1 MiB of longer lines. f must not keep its argument.
func lines(r io.Reader, f func([]byte) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		b, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(b) > 0 {
			if err := f(b); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
