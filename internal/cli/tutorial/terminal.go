package tutorial

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/markdown"
	"github.com/vsphere-sandbox/vsphere-sandbox/tutorials"
)

const (
	// patience is for how long one command may run; a reader can end it earlier.
	patience = 5 * time.Minute
	// widest is where lines are too long to be read well.
	widest = 100
)

// lines are what the reader types, until the end of the input. A read that is under way when ctx ends goes on until the
// next line, which is lost.
func lines(ctx context.Context, in io.Reader) <-chan string {
	found := make(chan string)
	go func() {
		defer close(found)
		s := bufio.NewScanner(in)
		for s.Scan() {
			select {
			case found <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return found
}

// lookOf is how the terminal is written to.
func lookOf(o *startOptions) guide.Look {
	width := 0
	if f, ok := o.streams.Out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = w
		}
	}
	if width <= 0 {
		width = 80
	}
	width = min(width, widest)
	styled := o.streams.OutTTY() && o.getenv("NO_COLOR") == "" && o.getenv("TERM") != "dumb"
	look := markdown.Options{Width: width, Styled: styled, Link: link}
	return guide.Look{Width: width, Styled: styled, Text: func(text string) string { return markdown.Terminal(text, look) }}
}

// link is what is shown of where a link leads: addresses of the web, and files that the reader has.
func link(to string) string {
	if strings.Contains(to, "://") {
		return to
	}
	to, _, _ = strings.Cut(to, "#")
	// A page is in a folder of the tutorials.
	file := strings.TrimPrefix(path.Join("/NN", to), "/")
	if info, err := fs.Stat(tutorials.FS(), file); err == nil && !info.IsDir() && path.Base(file) != "README.md" {
		return path.Join("tutorials", file)
	}
	return ""
}

func itoa(n int) string { return strconv.Itoa(n) }
