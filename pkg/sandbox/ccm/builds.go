package ccm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// builds returns the directory with copies of watched programs.
func (p *Processes) builds() string { return p.Dir.Path("ccm", "builds") }

// watchBuilds swaps in every new build of the program at path.
func (p *Processes) watchBuilds(ctx context.Context, path string) {
	err := ccm.Watch(ctx, path, func(built ccm.Program) {
		next := p.Running()
		if next.Program.Digest == built.Digest {
			p.setFailedBuild("") // the newest build runs already, as after a mistake that was undone
			return
		}
		var err error
		if next.Program, err = keepBuild(ctx, p.builds(), built); err != nil {
			p.failed(err, "path", path)
			return // most likely another build is being written, which calls this function again
		}
		seq := p.event(event.Info, "ccm.rebuilt", 0, fmt.Sprintf("%s was built again (%s)", path, shortDigest(built.Digest)))
		if _, err := p.exchange(ctx, next, seq); err != nil && ctx.Err() == nil {
			p.setFailedBuild(fmt.Sprintf("an older build runs; the build of %s did not start: %v", time.Now().Format(time.TimeOnly), err))
			p.failed(err, "path", path)
		}
		if err := dropBuilds(p.builds(), p.Running().Program.Path); err != nil {
			p.failed(err)
		}
	})
	if err != nil {
		p.event(event.Warning, "ccm.watch-ended", 0, err.Error())
	}
}

// setFailedBuild sets what became of the newest build, "" if it runs.
func (p *Processes) setFailedBuild(text string) {
	p.update(func() { p.failedBuild = text })
	for _, r := range p.all() {
		p.Components.Changed(r.name)
	}
}

// keepBuild copies a program to dir: a program that was built again must still be able to restart, and to run after a failed
// swap.
func keepBuild(ctx context.Context, dir string, p ccm.Program) (ccm.Program, error) {
	from, err := os.Open(p.Path)
	if err != nil {
		return p, err
	}
	defer from.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, err
	}
	to := filepath.Join(dir, p.Digest[len("sha256:"):][:16])
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
	copied, err := source.Resolve(ctx, ccm.Options{})
	if err == nil && copied.Digest != p.Digest {
		err = fmt.Errorf("%s: changed while it was copied", p.Path)
	}
	if err != nil {
		return p, err
	}
	p.Path = to
	return p, f.Commit()
}

// dropBuilds deletes the copies in dir but for the one that runs.
func dropBuilds(dir, running string) error {
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range all {
		if path != running {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}
