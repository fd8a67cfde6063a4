package sandbox

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/recording"
)

// openEventFile keeps a copy of the log in the instance's directory, a JSON object a line, for readers that come when the
// sandbox is gone: the newest of it, in two files of a bounded size (see [event.File]). Like any other reader of the log it
// may lag, and reports that it lost events. Beside it begins the recording, in the same directory.
func (s *Sandbox) openEventFile(context.Context) error {
	if err := s.openSecrets(); err != nil { // before the first is known
		return err
	}
	f, err := event.CreateFile(s.opts.Dir.Path("events.jsonl"), 0)
	if err != nil {
		return err
	}
	s.eventFile = f
	s.background.Run("event file", func(ctx context.Context) {
		if err := f.Copy(ctx, s.log); err != nil {
			s.log.Append(event.Event{
				Plane: event.PlaneSandbox, Level: event.Error, Kind: "event-file.failed", Message: "events are no longer written to the file: " + err.Error(),
			})
		}
	})
	s.recorder, err = recording.New(s.opts.Dir.Path("recording.jsonl"), api.Recording{
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind,
		Sandbox: s.opts.Name, Scenario: s.topology().Metadata.Name, Speed: float64(s.opts.Speed), StartedAt: s.start,
		Version: build.Version(), KubernetesVersion: build.Kubernetes(),
		Ground: s.standsOn(),
	}, &s.watchCache, s.log)
	if err != nil {
		return err
	}
	s.background.Run("recording", s.recorder.Run)
	return nil
}

func (s *Sandbox) closeEventFile(ctx context.Context) error {
	if s.eventFile == nil {
		return s.secrets.Close()
	}
	err := errors.Join(s.background.End(ctx, "recording"), s.background.End(ctx, "event file"), s.secrets.Close())
	if cerr := s.eventFile.Close(); err == nil {
		err = cerr
	}
	return err
}
