package runtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// hung is a daemon that takes a call and never answers.
type hung struct{}

func (hung) Run(ctx context.Context, c Call) error {
	if c.Args[0] == "--version" {
		return script{"--version": "Docker version 28.2.2, build e6534b4\n"}.Run(ctx, c)
	}
	<-ctx.Done()
	return ctx.Err()
}

// A daemon that hangs ends in a timeout, and its error differs from that of a stopped one.
func TestHung(t *testing.T) {
	for name, ask := range map[string]func(*Runtime, context.Context) error{
		"check": (*Runtime).Check, "answer": (*Runtime).Answer,
		"detect": func(r *Runtime, ctx context.Context) error {
			_, err := detect(ctx, "docker", func(string) *Runtime { return r })
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			err := ask(With("docker", hung{}), t.Context())
			if !coded.Is(err, Stopped) || !strings.Contains(err.Error(), "has not responded within 20s") || time.Since(begin) != answerTime {
				t.Errorf("%s: after %s: %v", name, time.Since(begin), err)
			}
		})
	}
}

// A caller that cancels gets its context's error.
func TestAnswerIsNotWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := With("docker", hung{}).Answer(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
