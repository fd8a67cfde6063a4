package sandbox

import (
	"context"
	"net/http"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const (
	// recordingSize is how large a recording becomes, both segments together, unless what there is takes more by itself.
	recordingSize = 64 << 20
	// recordingEvents is how many events a segment begins with: causes of what comes are mostly among them.
	recordingEvents = 4096
	// recordingPause is for how long changes are gathered that are written together.
	recordingPause = 50 * time.Millisecond
	// recordingRetry is the time between two attempts to record after a write has failed.
	recordingRetry = time.Second
)

// openRecording begins to record all that the sandbox tells of itself, in the instance's directory, for its owner only.
func (s *Sandbox) openRecording() error {
	head := api.Recording{
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind,
		Sandbox: s.opts.Name, Scenario: s.topology().Metadata.Name, Speed: float64(s.opts.Speed), StartedAt: s.start,
		Version: build.Version(), KubernetesVersion: build.Kubernetes(),
		Ground: s.standsOn(),
	}
	r, err := newRecorder(s.opts.Dir.Path("recording.jsonl"), recordingSize, recordingEvents, head, &s.rows, s.log)
	if err != nil {
		return err
	}
	s.recorder = r
	s.background.run("recording", func(ctx context.Context) {
		if err := r.run(ctx); err != nil {
			s.log.Append(event.Event{
				Plane: event.PlaneSandbox, Level: event.Error, Kind: "recording.failed", Message: "what happens is no longer recorded: " + err.Error(),
			})
		}
	})
	return nil
}

// closeRecording ends it, with all that was told up to now in it.
func (s *Sandbox) closeRecording(ctx context.Context) error {
	if s.recorder == nil {
		return nil
	}
	return s.background.end(ctx, "recording")
}

// streamRecording sends the recording, from its oldest segment on, and with follow=true what is added to it. A reader
// that is so slow that a segment goes before it was read is cut off, and so is one that follows what cannot be written any
// more.
func (s *Sandbox) streamRecording(w http.ResponseWriter, r *http.Request) {
	if s.recorder == nil {
		reply(w, nil, &api.Error{Code: "unavailable", Message: "the sandbox records nothing yet", Try: "vsphere-sandbox wait --for=ready"})
		return
	}
	follow := r.URL.Query().Get("follow") == "true"
	s.recorder.settle(r.Context())
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	reader := s.recorder.file.reader()
	defer reader.close()
	more, err := true, reader.copy(w)
	for follow && more && err == nil && flush() == nil {
		if more = reader.wait(r.Context()); !more { // the sandbox ends: so far it is told
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Second)
			s.recorder.settle(ctx)
			cancel()
		}
		err = reader.copy(w)
	}
	if err != nil || follow && !more && r.Context().Err() == nil { // it could not be read, or is no longer written
		panic(http.ErrAbortHandler) // an end that no reader takes for the sandbox's
	}
}
