package up

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// reportBuilds prints to w what becomes of builds of a watched program, for a user with the terminal of "up" beside the
// editor. The returned function ends that, and waits for it.
func reportBuilds(ctx context.Context, w io.Writer, log *event.Log) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for last := log.Last(); ; {
			events, _, err := log.Wait(ctx, last, 0)
			if err != nil {
				return
			}
			for _, e := range events {
				last = e.Seq
				if line := build(e); line != "" {
					fmt.Fprintln(w, printable.Lines(line))
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// build is what is said of an event, "" of most.
func build(e event.Event) string {
	switch e.Kind {
	case "ccm.rebuilt", "ccm.swapped":
		return strings.TrimSpace("ccm: " + e.Message)
	case "ccm.swap-failed", "ccm.watch-ended":
		return "ccm: \u2717 " + e.Message
	}
	return ""
}
