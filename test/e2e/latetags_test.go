package e2e

import (
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// A node whose VM has no zone yet waits, and its Events say for which tag and where it was looked for; it is initialized
// as soon as the tag is there.
func lateZoneTag(s *sandbox) {
	t := s.T
	const name = "worker-eu-1"
	begin := s.Last()
	s.Run("govc", "--vcenter", "eu", "tags.detach", "-c", "k8s-zone", "eu-all", "/dceu")
	s.registerAgain(name)
	missing := s.awaitEvent(begin, reaction, "ccm.zone-tag-missing", about(name))
	s.checkCauses(missing, "ccm.zone-tag-missing", "tag.detached")
	s.checkNodeEvent(name, "ZoneTagMissing", `"k8s-zone"`, `Datacenter "dceu"`, `"eu" (k8s-region)`)
	s.never("it is initialized without a zone", 3*time.Second, func() string {
		if n := s.Node(name); !tainted(n, taintUninitialized) || n.ProviderID != "" {
			return "initialized"
		}
		return ""
	})
	attached := s.Last()
	s.Run("govc", "--vcenter", "eu", "tags.attach", "-c", "k8s-zone", "eu-all", "/dceu")
	s.Await("initialized", 10*time.Second, func() bool { n := s.Node(name); return well(n) && n.Region == "eu" && n.Zone == "eu-all" })
	freed := s.awaitEvent(attached, reaction, "node.untainted", func(e event.Event) bool {
		return e.Object.Name == name && e.Message == "taint "+taintUninitialized+" is gone"
	})
	s.checkCauses(freed, "node.untainted", "node.provider-id", "tag.attached")
	if bad := s.unwell(append(usNodes, euNodes...)); bad != "" {
		t.Error(bad)
	}
}
