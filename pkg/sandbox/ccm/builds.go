package ccm

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// builds returns the directory with copies of watched programs.
func (p *Processes) builds() string { return p.Dir.Path("ccm", "builds") }

// watchBuilds swaps in every new build of the program at path.
func (p *Processes) watchBuilds(ctx context.Context, path string) {
	err := program.Watch(ctx, path, func(built program.Program) {
		next := p.Running()
		if next.Program.Digest == built.Digest {
			p.setFailedBuild("") // the newest build runs already, as after a mistake that was undone
			return
		}
		var err error
		if next.Program, err = program.Keep(ctx, p.builds(), built); err != nil {
			p.failed(err, "path", path)
			return // most likely another build is being written, which calls this function again
		}
		seq := p.event(event.Info, "ccm.rebuilt", 0, fmt.Sprintf("%s was built again (%s)", path, shortDigest(built.Digest)))
		if _, err := p.exchange(ctx, next, seq); err != nil && ctx.Err() == nil {
			p.setFailedBuild(fmt.Sprintf("an older build runs; the build of %s did not start: %v", time.Now().Format(time.TimeOnly), err))
			p.failed(err, "path", path)
		}
		if err := program.DropKept(p.builds(), p.Running().Program.Path); err != nil {
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
