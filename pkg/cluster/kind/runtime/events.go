package runtime

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Event is something that has happened to a container.
type Event struct {
	// Container is its name.
	Container string
	// Action is docker's word: create, start, die, kill, stop, pause, unpause, destroy and more.
	Action string
	// ExitCode is that of a container that died, "" otherwise.
	ExitCode string
	Time     time.Time
}

// Events calls got, on one goroutine, for each event of the containers that have the label with that value and have
// happened since, which is counted in seconds, until ctx ends or the runtime does; it returns why, always an error.
func (r *Runtime) Events(ctx context.Context, label, value string, since time.Time, got func(Event)) error {
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := r.Do(ctx, Call{
			Args:   []string{"events", "--since", strconv.FormatInt(since.Unix(), 10), "--filter", "type=container", "--filter", "label=" + label + "=" + value, "--format", r.eventFormat()},
			Stdout: write,
		})
		_ = write.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if e, ok := parseEvent(lines.Bytes()); ok {
			got(e)
		}
	}
	_ = read.Close()
	if err := <-ended; err != nil {
		return err
	}
	return fmt.Errorf("%s events: ended", r.name)
}

func (r *Runtime) eventFormat() string {
	if r.Kind() == "podman" {
		return "json"
	}
	return "{{json .}}"
}

// parseEvent reads one line of docker's, podman's or nerdctl's events.
func parseEvent(line []byte) (Event, bool) {
	var raw struct {
		Action string // docker
		Actor  struct{ Attributes map[string]string }
		Status string // nerdctl; podman, whose name is at the top
		Name   string
		// TimeNano is docker's; podman has it as timeNano, which the decoder takes for the same.
		TimeNano int64 `json:"timeNano"`
	}
	if json.Unmarshal(line, &raw) != nil {
		return Event{}, false
	}
	e := Event{Container: raw.Actor.Attributes["name"], Action: raw.Action, ExitCode: raw.Actor.Attributes["exitCode"], Time: time.Unix(0, raw.TimeNano)}
	if e.Container == "" {
		e.Container = raw.Name
	}
	if e.Action == "" {
		e.Action = raw.Status
	}
	return e, e.Container != "" && e.Action != ""
}
