package record

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/record"
)

// ask reads the vCenters, and says what is being waited for where that takes long.
func (o *options) ask(ctx context.Context, c *vcenter.Config, ro record.Options) (*record.Recording, error) {
	progress := vcenterconfig.NewProgress(o.streams.Err, o.streams.ErrTTY())
	defer progress.Close()
	var names []string
	for _, v := range c.VCenters {
		names = append(names, fmt.Sprintf("%q", v.Name))
	}
	who := "vcenter " + strings.Join(names, ", ")
	progress.Step(who + ": login")
	connections, done, err := vcenterconfig.Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	defer done()
	progress.Step(who + ": inventory")
	ro.OnStep = func(vcenter, what string) { progress.Step(fmt.Sprintf("vcenter %q: %s", vcenter, what)) }
	r, err := record.Record(ctx, connections, ro)
	if err != nil {
		return nil, explain(ctx, err)
	}
	return r, nil
}
