package feed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
)

// Handler is told of the machines of a source, from one goroutine.
type Handler struct {
	// Changed is told of a machine that is new, has changed or is gone.
	Changed func(Machine)
	// Synced is called whenever all machines that there are have been told, at first and after each interruption.
	Synced func()
	// Lost is told why the source is not heard any more. What it told last stays so until it is found again.
	Lost func(error)
}

const (
	minPause = 200 * time.Millisecond
	maxPause = 5 * time.Second
	// silence is after what time a source from which nothing comes is looked for anew.
	silence = 3 * alive
	// maxLine bounds a line, in bytes.
	maxLine = 1 << 20
)

var errSilent = errors.New("nothing was heard of it for a while")

// Follow tells h of the machines of a shard, from what there is on, until ctx ends. It asks again when the stream ends, and
// tells then only what has changed meanwhile: machines that are not there any more are gone.
func Follow(ctx context.Context, w Where, shard Shard, h Handler) error {
	if err := w.Validate(); err != nil {
		return err
	}
	f := follower{shard: shard, h: h, known: map[string]Machine{}}
	for failures := 1; ; failures++ {
		synced, err := f.stream(ctx, w)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if synced {
			failures = 1
		}
		if h.Lost != nil {
			h.Lost(err)
		}
		if backoff.Sleep(ctx, backoff.Backoff{Min: minPause, Max: maxPause}.After(failures)) != nil {
			return ctx.Err()
		}
	}
}

type follower struct {
	shard Shard
	h     Handler
	known map[string]Machine
}

// stream follows one stream to its end. It returns whether it got as far as Synced.
func (f *follower) stream(ctx context.Context, w Where) (synced bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client, req, err := w.request(ctx)
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("machines: %s", resp.Status)
	}
	return f.lines(ctx, cancel, resp.Body)
}

func (f *follower) lines(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) (synced bool, err error) {
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	told := map[string]bool{}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		quiet.Reset(silence)
		var l Line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return synced, fmt.Errorf("machines: %w", err)
		}
		if l.Machine != nil {
			if !synced {
				told[l.Machine.ID] = true
			}
			f.changed(*l.Machine)
		}
		if !l.Synced || synced {
			continue
		}
		synced = true
		for id := range f.known {
			if !told[id] {
				f.changed(Machine{ID: id, State: Gone})
			}
		}
		if f.h.Synced != nil {
			f.h.Synced()
		}
	}
	switch err := lines.Err(); {
	case errors.Is(context.Cause(ctx), errSilent):
		return synced, errSilent
	case err != nil:
		return synced, fmt.Errorf("machines: %w", err)
	}
	return synced, errors.New("machines: the stream has ended")
}

// changed passes on what is news. A machine that is in another shard, by the name that it has now, is gone from this one.
func (f *follower) changed(m Machine) {
	if m.State != Gone && !f.shard.Has(m.Name) {
		m = Machine{ID: m.ID, State: Gone}
	}
	was, known := f.known[m.ID]
	switch {
	case m.State == Gone && !known, m.State != Gone && known && was.equal(m):
		return
	case m.State == Gone:
		was.State = Gone
		m = was // by the name that it had
		delete(f.known, m.ID)
	default:
		f.known[m.ID] = m
	}
	f.h.Changed(m)
}
