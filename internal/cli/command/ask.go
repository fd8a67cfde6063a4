package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// AnswerTime is how long a sandbox may take to answer a question.
	AnswerTime = 15 * time.Second
	// DoTime is how long it may take to do something: a vCenter may be slow on purpose.
	DoTime = 2 * time.Minute
)

// Target is a running sandbox with a client that talks to it.
type Target struct {
	Sandbox
	Client *api.Client
}

// Connect finds the sandbox the command is about, which must be running.
func (d *Deps) Connect(ctx context.Context) (*Target, error) {
	s, err := d.FindRunning(ctx)
	if err != nil {
		return nil, err
	}
	return &Target{Sandbox: s, Client: api.NewClient(s.Socket)}, nil
}

// Ask sends one request to a sandbox, within [AnswerTime], and explains why it got no answer.
func Ask[T any](ctx context.Context, t *Target, question func(*api.Client, context.Context) (T, error)) (T, error) {
	return within(ctx, t, AnswerTime, question)
}

// Do has a sandbox do something, within [DoTime]; otherwise it is like [Ask].
func Do[T any](ctx context.Context, t *Target, deed func(*api.Client, context.Context) (T, error)) (T, error) {
	return within(ctx, t, DoTime, deed)
}

// AskIt is [Deps.Connect] and [Ask] in one.
func AskIt[T any](ctx context.Context, d *Deps, question func(*api.Client, context.Context) (T, error)) (T, error) {
	t, err := d.Connect(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return Ask(ctx, t, question)
}

func within[T any](ctx context.Context, t *Target, limit time.Duration, f func(*api.Client, context.Context) (T, error)) (T, error) {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := f(t.Client, inner)
	if err != nil {
		err = t.Explain(ctx, err, limit)
	}
	return v, err
}

// Explain turns an error of the client into one for the user. limit is the time that the sandbox was given; ctx is the
// command's own context.
func (t *Target) Explain(ctx context.Context, err error, limit time.Duration) error {
	var (
		reported *api.Error
		netErr   *net.OpError
	)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &reported):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &report.Error{
			Code:    "not-answering",
			Message: fmt.Sprintf("sandbox %q does not answer within %s", t.Name, limit),
			Try:     fmt.Sprintf("%s logs --name %s\n%[1]s down --name %[2]s", Program, t.Name),
		}
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &report.Error{
			Code:    "unreachable",
			Message: fmt.Sprintf("sandbox %q cannot be reached; it is starting, or ending", t.Name),
			Try:     Program + " list",
			Err:     err,
		}
	}
	return err
}
