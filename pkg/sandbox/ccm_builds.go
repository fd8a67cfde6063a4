package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// watchCCMBuilds puts the program at path to work whenever it has been built anew.
func (s *Sandbox) watchCCMBuilds(ctx context.Context, path string) {
	object := event.Object{Kind: "Component", Name: ccmComponent}
	err := ccm.Watch(ctx, path, func(p ccm.Program) {
		s.ccms.mu.Lock()
		next := s.ccms.runs
		s.ccms.mu.Unlock()
		if next.Program.Digest == p.Digest {
			return // it is what runs
		}
		var err error
		if next.Program, err = s.keepBuild(p); err != nil {
			s.opts.Logger.Error("cloud controller manager", "path", path, "err", err)
			return // most likely it is being written once more, of which we shall hear
		}
		seq := s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "ccm.rebuilt", Object: object, Message: fmt.Sprintf("%s was built anew (%s)", path, shortDigest(p.Digest))})
		if _, err := s.exchangeCCM(ctx, next, seq); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("cloud controller manager", "path", path, "err", err)
		}
		s.dropBuilds()
	})
	if err != nil {
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "ccm.watch-ended", Object: object, Message: err.Error()})
	}
}

// keepBuild copies a program whose file is built anew while it runs: it has to start again as it was, and to be there to
// go back to.
func (s *Sandbox) keepBuild(p ccm.Program) (ccm.Program, error) {
	from, err := os.Open(p.Path)
	if err != nil {
		return p, err
	}
	defer from.Close()
	to := filepath.Join(s.buildsDir(), p.Digest[len("sha256:"):][:16])
	if err := os.MkdirAll(s.buildsDir(), 0o700); err != nil {
		return p, err
	}
	f, err := atomicfile.Create(to, 0o700)
	if err != nil {
		return p, err
	}
	defer f.Discard()
	if _, err = io.Copy(f, from); err != nil {
		return p, err
	}
	source, err := ccm.Parse("file:" + f.Name())
	if err != nil {
		return p, err
	}
	copied, err := source.Resolve(context.Background(), ccm.Options{})
	if err == nil && copied.Digest != p.Digest {
		err = fmt.Errorf("%s: changed while it was copied", p.Path)
	}
	if err != nil {
		return p, err
	}
	p.Path = to
	return p, f.Commit()
}

func (s *Sandbox) buildsDir() string { return s.opts.Dir.Path("ccm", "builds") }

// dropBuilds deletes the copies that do not run.
func (s *Sandbox) dropBuilds() {
	s.ccms.mu.Lock()
	runs := s.ccms.runs.Program.Path
	s.ccms.mu.Unlock()
	all, err := filepath.Glob(filepath.Join(s.buildsDir(), "*"))
	for _, path := range all {
		if path != runs {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if err != nil {
		s.opts.Logger.Error("cloud controller manager", "err", err)
	}
}
