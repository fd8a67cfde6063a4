package sandbox

import (
	"context"
	"encoding/json"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// openEventFile keeps a copy of the log in the instance's directory, a JSON object a line, for whoever looks after the
// sandbox is gone. It is a reader of the log like any other: it may lag, and says so when it lost events.
func (s *Sandbox) openEventFile(context.Context) error {
	f, err := os.OpenFile(s.opts.Dir.Path("events.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	s.eventFile = f
	s.background.run("event file", func(ctx context.Context) {
		enc := json.NewEncoder(f)
		for seq := uint64(0); ; {
			events, lost, err := s.log.Wait(ctx, seq, 256)
			if err != nil {
				events, lost = s.log.Read(seq, 0) // the last words
			}
			for _, e := range events {
				if werr := enc.Encode(api.EventLine{Event: e, Lost: lost}); werr != nil {
					s.log.Append(event.Event{
						Plane: event.PlaneSandbox, Level: event.Error, Kind: "event-file.failed", Message: "events are no longer written to the file: " + werr.Error(),
					})
					return
				}
				seq, lost = e.Seq, 0
			}
			if err != nil {
				return
			}
		}
	})
	return nil
}

func (s *Sandbox) closeEventFile(ctx context.Context) error {
	if s.eventFile == nil {
		return nil
	}
	err := s.background.end(ctx, "event file")
	if cerr := s.eventFile.Close(); err == nil {
		err = cerr
	}
	return err
}
