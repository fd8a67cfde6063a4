package iostreams

import (
	"context"
	"fmt"
	"strings"
)

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
