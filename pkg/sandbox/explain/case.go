package explain

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Around is what a case of any kind is seen in.
type Around struct {
	// Now is when it was gathered. Times are told in its location.
	Now time.Time
	// Events are all that the log remembers, oldest first.
	Events []event.Event
	// Leases are the faults that were injected.
	Leases   []api.Lease
	VCenters []VCenter
	// CCM are the replicas of the cloud controller manager, as they are now; none where there is no Kubernetes.
	CCM []api.Component
	// CCMCut says that the CCM's way to the API server is cut.
	CCMCut bool
	// CCMLog is what the CCM's log says of the subject, oldest first, the end of it.
	CCMLog []string
	// Config is the cloud-config as the CCM reads it.
	Config Asked[*config.Config]
	// Relabels: the CCM keeps zone labels true, and does not only set them.
	Relabels bool
	// Others: the cluster is others'. Of its kubelets nothing is known but what the API server says, and it may have a CCM that is
	// none of these.
	Others bool
	// Grace is how long a node may be silent before it is Unknown.
	Grace time.Duration
}

// VCenter is a vCenter, and how it gets on with the CCM.
type VCenter struct {
	api.VCenter
	// Server is how the cloud-config names it.
	Server string
	// Err is why the sandbox itself could not ask it.
	Err error
	// Categories are the names of the tag categories that it has.
	Categories Asked[[]string]
	// Calls are the last that the CCM made, oldest first.
	Calls []Call
}

// Call is a call that the CCM made, and what it was told.
type Call struct {
	Time     time.Time
	Method   string
	Answer   string // "ok", or what went wrong
	Failed   bool
	Duration time.Duration
}

// vcenter finds one by its name.
func (a Around) vcenter(name string) (VCenter, bool) {
	for _, vc := range a.VCenters {
		if vc.Name == name {
			return vc, true
		}
	}
	return VCenter{}, false
}

// configured finds what the cloud-config says of a vCenter.
func (a Around) configured(vc VCenter) (config.VCenter, bool) {
	if a.Config.Is == nil {
		return config.VCenter{}, false
	}
	for _, v := range a.Config.Is.VCenters {
		if config.SameHost(v.Server, vc.Server) {
			return v, true
		}
	}
	return config.VCenter{}, false
}

// clock is a moment as people read it.
func (a Around) clock(t time.Time) string { return t.In(a.Now.Location()).Format("15:04:05") }

// since is how long ago a moment was.
func (a Around) since(t time.Time) string { return span(a.Now.Sub(t)) }

// span is a duration as people read it.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
