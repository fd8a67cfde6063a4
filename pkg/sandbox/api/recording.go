package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RecordingVersion and RecordingKind are in the first line of every recording.
const (
	RecordingVersion = "sandbox.vsphere/v1alpha1"
	RecordingKind    = "Recording"
)

// earlyVersion is the version in recordings of v0.1, which are otherwise the same.
const earlyVersion = "vsphere-sandbox/v1alpha1"

// Recording is the first line of a recording: what was recorded. The lines after it are [Recorded].
type Recording struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Sandbox is the name of the one that was recorded.
	Sandbox string `json:"sandbox"`
	// Topology is the name of its topology; the key is that of the first recordings.
	Topology          string    `json:"scenario"`
	Speed             float64   `json:"speed"`
	StartedAt         time.Time `json:"startedAt"`
	Version           string    `json:"version"`
	KubernetesVersion string    `json:"kubernetesVersion"`
	Ground            Ground    `json:"ground,omitzero"`
	// Began is when the recording begins: later than the sandbox when its oldest part was given up for room.
	Began time.Time `json:"began"`
}

// Recorded is an [Update] and its time. The first lines of a recording have all rows of its beginning, up to a line that is
// Synced. The state of the sandbox at any time is those lines and the ones up to that time.
type Recorded struct {
	Time time.Time `json:"time"`
	Update
}

// Record calls begin with what is recorded, then f for each line of the sandbox's own recording, oldest first. With
// follow it continues until ctx or the sandbox ends, and any other end is an error; without, it returns after the newest line.
func (c *Client) Record(ctx context.Context, follow bool, begin func(Recording) error, f func(Recorded) error) error {
	resp, err := c.do(ctx, http.MethodGet, "recording?"+url.Values{"follow": {strconv.FormatBool(follow)}}.Encode(), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := ReadRecording(resp.Body, begin, f); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}

// ReadRecording reads a recording: it calls begin once, then f for each line. Its own errors name the line.
func ReadRecording(r io.Reader, begin func(Recording) error, f func(Recorded) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF && len(text) == 0 {
			if number == 1 {
				return fmt.Errorf("line 1: it is empty; a recording begins with its kind")
			}
			return nil
		} else if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if number == 1 {
			var head Recording
			if err := json.Unmarshal(text, &head); err != nil || head.Kind != RecordingKind {
				return fmt.Errorf("line 1: no recording: its first line has to say \"kind\": %q", RecordingKind)
			}
			if head.APIVersion != RecordingVersion && head.APIVersion != earlyVersion {
				return fmt.Errorf("line 1: a recording of version %q; this program reads %s", head.APIVersion, RecordingVersion)
			}
			if err := begin(head); err != nil {
				return err
			}
			continue
		}
		var line Recorded
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if err := f(line); err != nil {
			return err
		}
	}
}
