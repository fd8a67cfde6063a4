package recording

import (
	"context"
	"errors"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/background"
)

// Files is what a sandbox keeps of its life in its directory: a copy of the event log, and the recording. Set its fields
// before [Files.Open].
type Files struct {
	Log        *event.Log
	Dir        *instance.Dir
	Source     Source
	Background *background.Groups
	// Head returns the first line of the recording.
	Head func() api.Recording

	events   *event.File
	recorder *Recorder
}

// Names of background groups.
const (
	eventGroup     = "event file"
	recordingGroup = "recording"
)

// Open begins both files. The copy of the event log is one JSON object per line, in two files of a bounded size (see
// [event.File]). Like any other reader of the log it may lag, and then reports that it has lost events.
func (f *Files) Open(context.Context) (err error) {
	if f.events, err = event.CreateFile(f.Dir.Path("events.jsonl"), 0); err != nil {
		return err
	}
	f.Background.Run(eventGroup, func(ctx context.Context) {
		if err := f.events.Copy(ctx, f.Log); err != nil {
			f.Log.Append(event.Event{
				Plane: event.PlaneSandbox, Level: event.Error, Kind: "event-file.failed", Message: "events are no longer written to the file: " + err.Error(),
			})
		}
	})
	if f.recorder, err = New(f.Dir.Path("recording.jsonl"), f.Head(), f.Source, f.Log); err != nil {
		return err
	}
	f.Background.Run(recordingGroup, f.recorder.Run)
	return nil
}

// Close ends both files. It may be called before [Files.Open].
func (f *Files) Close(ctx context.Context) error {
	if f.events == nil {
		return nil
	}
	return errors.Join(f.Background.End(ctx, recordingGroup), f.Background.End(ctx, eventGroup), f.events.Close())
}

// Register adds the handler of the control API.
func (f *Files) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/recording", func(w http.ResponseWriter, r *http.Request) { f.recorder.ServeHTTP(w, r) })
}
