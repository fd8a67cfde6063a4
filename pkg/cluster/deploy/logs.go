package deploy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Logs copies the log of a component, from the start of the running process, until ctx ends; then it returns nil. It
// continues after a restart and with a new pod. An error is one of the writer or of the watch. If two processes follow
// one another at once, the first may be missed.
func (d *Deployment) Logs(ctx context.Context, component string, to io.Writer) error {
	var f follower
	for {
		c, changed, err := d.present(ctx, component)
		if ctx.Err() != nil {
			return nil // it was asked to end
		}
		if err != nil {
			return fmt.Errorf("logs of %s: %w", component, err)
		}
		if c.ContainerID != "" && !(f.id == c.ContainerID && f.complete) {
			if err := f.follow(ctx, d, c, to); err != nil && ctx.Err() == nil {
				return fmt.Errorf("logs of %s: %w", component, err)
			}
		}
		select {
		case <-changed:
		case <-f.again():
		case <-ctx.Done():
			return nil
		case <-d.tracker.ended.Done():
			return nil
		}
	}
}

// present returns a component's current state, or the zero value.
func (d *Deployment) present(ctx context.Context, component string) (Change, <-chan struct{}, error) {
	all, changed, err := d.tracker.snapshot(ctx)
	if err != nil {
		return Change{}, nil, err
	}
	for _, c := range d.tracker.components(all) {
		if c.Component == component {
			return c, changed, nil
		}
	}
	return Change{}, changed, nil
}

// follower reads the log of one container after the other.
type follower struct {
	id string
	// last is the time of the last line that was written, count how many lines of that very time were.
	last  time.Time
	count int
	// complete: the process has ended, and all that it said was written.
	complete bool
	broken   bool // the connection ended before the process
}

// again is when to look again without news of the pod: a connection that ended is made again soon.
func (f *follower) again() <-chan time.Time {
	if !f.broken {
		return nil
	}
	return time.After(time.Second)
}

func (f *follower) follow(ctx context.Context, d *Deployment, c Change, to io.Writer) error {
	if f.id != c.ContainerID {
		*f = follower{id: c.ContainerID}
	}
	f.broken = false
	options := &corev1.PodLogOptions{Container: c.Container, Follow: true, Timestamps: true}
	if !f.last.IsZero() {
		since := f.last
		options.SinceTime = newTime(since)
	}
	stream, err := d.client.CoreV1().Pods(c.Namespace).GetLogs(c.Pod, options).Stream(ctx)
	if err != nil {
		f.broken = c.State != Waiting // a container that is only being made has no log yet, and rings when it has
		return nil                    // the pod may be gone; the next change shows it
	}
	defer stream.Close()
	skip := f.count
	r := bufio.NewReader(stream)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if err := f.write(line, to, &skip); err != nil {
				return err
			}
		}
		if err != nil {
			// The stream ends with the process or with the connection; the pod's state distinguishes them.
			f.complete = c.State != Running
			f.broken = !f.complete
			return nil // a stream that broke is read again from where it was
		}
	}
}

// write writes a line without the time that it begins with. After a new connection, lines of the last time that was seen
// come again.
func (f *follower) write(line []byte, to io.Writer, skip *int) error {
	stamp, text, ok := bytes.Cut(line, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !ok || err != nil {
		text, at = line, f.last // no line of a container: an error that the kubelet writes in its place
	}
	switch {
	case at.Before(f.last):
		return nil // SinceTime is in whole seconds
	case at.Equal(f.last) && *skip > 0:
		*skip--
		return nil
	case at.Equal(f.last):
		f.count++
	default:
		f.last, f.count = at, 1
	}
	_, err = to.Write(text)
	return err
}
