package events

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// copier copies a recording, and counts what is in it.
type copier struct {
	w     io.Writer
	mask  *mask.Mask
	flush bool // each line, for somebody who reads along

	began  bool
	head   api.Recording
	to     time.Time
	synced bool
	// events are all that are in it, changes those after what there was at the beginning.
	events, changes int
	bytes           int64
}

func (c *copier) copy(ctx context.Context, from *api.Client, follow bool) error {
	w := bufio.NewWriterSize(c.w, 64<<10)
	put := func(v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b = c.mask.Bytes(b)
		c.bytes += int64(len(b)) + 1
		if _, err := w.Write(append(b, '\n')); err != nil {
			return err
		}
		if c.flush {
			return w.Flush()
		}
		return nil
	}
	err := from.Record(ctx, follow, func(head api.Recording) error {
		c.began, c.head, c.to = true, head, head.Began
		return put(head)
	}, func(line api.Recorded) error {
		switch c.to = line.Time; {
		case line.Event != nil:
			c.events++
		case line.Synced:
			c.synced = true
		case c.synced:
			c.changes++
		}
		return put(line)
	})
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	return err
}

// tell says what was copied, and what to do with the file.
func (c *copier) tell(w io.Writer, zone *time.Location, file string) {
	clock := func(t time.Time) string { return t.In(zone).Format("15:04:05") }
	took := c.to.Sub(c.head.Began).Round(time.Second)
	fmt.Fprintf(w, "recorded of sandbox %q: %d events, %d changes, %s to %s (%s), %sB\n",
		c.head.Sandbox, c.events, c.changes, clock(c.head.Began), clock(c.to), took, output.Bytes(c.bytes))
	if file != "" {
		fmt.Fprintf(w, "to replay it:\n  vsphere-sandbox tui --replay %s\n", file)
	}
}
