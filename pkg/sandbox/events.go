package sandbox

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// openEventFile keeps a copy of the log in the instance's directory, a JSON object a line, for whoever looks after the
// sandbox is gone: the newest of it, in two files of a bounded size (see [event.File]). It is a reader of the log like any
// other: it may lag, and says so when it lost events. Beside it, all that is told is recorded: see
// [Sandbox.openRecording].
func (s *Sandbox) openEventFile(context.Context) error {
	if err := s.openSecrets(); err != nil { // before the first is known
		return err
	}
	f, err := event.CreateFile(s.opts.Dir.Path("events.jsonl"), 0)
	if err != nil {
		return err
	}
	s.eventFile = f
	s.background.run("event file", func(ctx context.Context) {
		if err := f.Copy(ctx, s.log); err != nil {
			s.log.Append(event.Event{
				Plane: event.PlaneSandbox, Level: event.Error, Kind: "event-file.failed", Message: "events are no longer written to the file: " + err.Error(),
			})
		}
	})
	return s.openRecording()
}

func (s *Sandbox) closeEventFile(ctx context.Context) error {
	if s.eventFile == nil {
		return s.secrets.Close()
	}
	err := errors.Join(s.closeRecording(ctx), s.background.end(ctx, "event file"), s.secrets.Close())
	if cerr := s.eventFile.Close(); err == nil {
		err = cerr
	}
	return err
}
