package provider

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// needsRestart tells what has to wait for the next start.
func (r *reloader) needsRestart(names []string) {
	r.metrics.Reload(metrics.NeedsRestart)
	r.log.Warn("cloud config needs a restart", "changed", names)
	r.tell(ReasonConfigNeedsRestart,
		"takes effect at the next start, since nodes whose VMs are no longer looked at would be called gone: "+strings.Join(names, ", "))
}

func (r *reloader) reject(err error) {
	r.keep(r.now())
	r.metrics.Reload(metrics.Refused)
	r.log.Warn("cloud config rejected", "err", err)
	r.tell(ReasonConfigRejected, "what was in force stays: "+err.Error())
}

// settled ends what was told: everything wanted may be in force. When it is so already nothing else will say it.
func (r *reloader) settled(already bool) {
	if r.told == "" {
		return
	}
	r.told = ""
	if already {
		r.log.Info("cloud config is in force as it is")
		r.events.config(r.now().cfg, corev1.EventTypeNormal, ReasonConfigReloaded, "the configuration is in force as it is")
	}
}

// tell writes a warning about what is wanted, once as long as nothing else is told.
func (r *reloader) tell(reason, message string) {
	if text := reason + ": " + message; text != r.told {
		r.told = text
		r.events.config(r.now().cfg, corev1.EventTypeWarning, reason, message)
	}
}
