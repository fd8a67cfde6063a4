// Package follow wakes a command when something happens in a sandbox, so that it looks again then and at no other time.
//
// Floor 5.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// settle is how long events are gathered before look is called once for all of them.
	settle = 50 * time.Millisecond
	// recheck is when look is called though there was no event: what it looks at may be behind the events.
	recheck = 2 * time.Second
)

// Each calls look now, and again soon after events of the sandbox, until look says it is done or returns an error, the
// sandbox ends, which is an error of code ended, or ctx does.
func Each(ctx context.Context, t *command.Target, look func() (done bool, err error)) error {
	s, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return err
	}
	streamCtx, cancel := context.WithCancel(ctx)
	wake := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- t.Client.Events(streamCtx, s.LastEvent, true, func(event.Event, uint64) error {
			notify.Wake(wake)
			return nil
		})
	}()
	err = wait(ctx, wake, ended, look)
	cancel()
	if over, ok := errors.AsType[streamOver](err); ok {
		return explain(ctx, t, over.err)
	}
	<-ended
	return err
}

func wait(ctx context.Context, wake <-chan struct{}, ended <-chan error, look func() (bool, error)) error {
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		recheck := time.NewTimer(recheck)
		select {
		case <-wake:
			recheck.Stop()
			if err := backoff.Sleep(ctx, settle); err != nil {
				return err
			}
			select { // updates since then
			case <-wake:
			default:
			}
		case <-recheck.C:
		case err := <-ended:
			return streamOver{err}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// streamOver is the end of the event stream, with its error if it had one.
type streamOver struct{ err error }

func (e streamOver) Error() string { return "the event stream ended" }

func explain(ctx context.Context, t *command.Target, err error) error {
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return t.Explain(ctx, err, command.AnswerTime)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return Ended(t.Name)
}

// Ended is the error for a sandbox that ended while a command followed it.
func Ended(name string) error {
	return &report.Error{Code: "ended", Message: fmt.Sprintf("sandbox %q ended", name), Try: command.Program + " list"}
}
