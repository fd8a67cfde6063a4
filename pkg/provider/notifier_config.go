package provider

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// The reasons of the events about a changed configuration.
const (
	// ReasonConfigReloaded: a change is in force.
	ReasonConfigReloaded = "ConfigReloaded"
	// ReasonConfigRejected: the configuration cannot be used as it is now. The last good one stays in force.
	ReasonConfigRejected = "ConfigRejected"
	// ReasonConfigNeedsRestart: a part of a change takes effect at the next start.
	ReasonConfigNeedsRestart = "ConfigNeedsRestart"
	// ReasonConfigDelayed: a vCenter that is in sync would not be with the change, which waits until it is.
	ReasonConfigDelayed = "ConfigDelayed"
)

// config tells what became of a change: on the Pod, else on every Secret with credentials, else nowhere.
func (n *notifier) config(cfg *config.Config, kind, reason, message string) {
	message = note(message)
	n.do(func() {
		objects := map[corev1.ObjectReference]bool{}
		if pod := n.ownPod(); pod != nil {
			objects[*pod] = true
		} else {
			for _, vc := range cfg.VCenters {
				if secret := secretObject(vc); secret != nil {
					objects[*secret] = true
				}
			}
		}
		for object := range objects {
			n.recorder.Event(&object, kind, reason, message)
		}
	})
}
