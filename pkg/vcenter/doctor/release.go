package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// release checks what answers, and how old it is.
func (l *list) release(ctx context.Context, c *vcenter.Connection) {
	err := c.Do(ctx, func(_ context.Context, vim *vim25.Client) error { return l.about(vim.ServiceContent.About) })
	if err != nil {
		l.add(Error, "version", err.Error(), "its release is not known", "see that it is a vCenter, and ask once more")
	}
}

// about tells what a release lacks.
func (l *list) about(about types.AboutInfo) error {
	short, err := vcenter.ShortcomingOf(about)
	if err != nil {
		return err
	}
	is := fmt.Sprintf("is %s %s build %s, API %s", about.Name, about.Version, about.Build, about.ApiVersion)
	switch {
	case short == nil:
		l.ok("version", "%s", is)
	case short.Serious:
		l.add(Error, "version", is, short.Why, short.Try)
	default:
		l.add(Warning, "version", is, short.Why, short.Try)
	}
	return nil
}

// Clocks that differ more make timestamps misleading; beyond five minutes tokens of single sign-on are refused.
const (
	skewed  = 5 * time.Second
	refused = 5 * time.Minute
)

// clock compares the vCenter's clock with this machine's at the middle of the call.
func (l *list) clock(ctx context.Context, c *vcenter.Connection, o Options) {
	err := c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		before := o.Now()
		there, err := methods.GetCurrentTime(ctx, vim)
		if err != nil {
			return err
		}
		took := o.Now().Sub(before)
		skew := there.Sub(before.Add(took / 2)).Round(time.Millisecond)
		// The half of the call that is not known is no skew.
		switch beyond := skew.Abs() - took/2; {
		case beyond > refused:
			l.add(Error, "clock", fmt.Sprintf("its clock is off by %v", skew), "tokens of single sign-on are refused, certificates may be", "set both clocks by NTP")
		case beyond > skewed:
			l.add(Warning, "clock", fmt.Sprintf("its clock is off by %v", skew), "its events and our logs do not go together", "set both clocks by NTP")
		default:
			l.ok("clock", "its clock is right to %v", max(skew.Abs(), took/2).Round(time.Millisecond))
		}
		return nil
	})
	if err != nil {
		l.add(Error, "clock", err.Error(), "its time is not known", "see that it is a vCenter that is up, and ask once more")
	}
}
