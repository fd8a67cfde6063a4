package real

import (
	"strings"
	"testing"
)

// What govc reads, it reads through the front as well as past it.
func TestGovcReads(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		inside, _ := s.paths()
		h := newHome(t)
		box := h.up("reads", "--vcenter-config", s.config(h), "--folder", "k8s")
		read := 0
		for _, command := range []string{
			"about", "about -l", "find / -type m", "find / -type h", "ls /DC0", "ls -l /DC0/vm", "tree /DC0", "vm.info " + inside, "vm.info -e " + inside, "vm.ip -wait 1s " + inside,
			"device.ls -vm " + inside, "snapshot.tree -vm " + inside, "vm.option.info", "vm.option.ls", "datacenter.info", "datastore.info", "datastore.ls", "datastore.cluster.info", "host.info",
			"host.storage.info", "pool.info /DC0/host/*/Resources", "object.collect " + inside + " name", "object.collect -s -d - " + inside + " runtime.powerState", "tags.ls", "tags.category.ls",
			"tags.attached.ls -r " + inside, "tags.category.info k8s-zone", "events -n 5", "tasks -n 5", "permissions.ls", "role.ls", "session.ls", "library.ls", "cluster.module.ls", "storage.policy.ls",
			"storage.policy.info", "volume.ls", "extension.info", "option.ls", "license.ls", "fields.ls", "metric.ls " + inside, "alarms", "dvs.portgroup.info DVS0", "namespace.ls", "vcsa.version",
		} {
			past := s.tryGovc(strings.Fields(command)...)
			through := box.run(append([]string{"govc"}, strings.Fields(command)...)...)
			if past.Code != through.Code || strings.Contains(through.Both(), "refused") {
				t.Errorf("govc %s: past the front exit status %d, through it %d:\n%s\n%s", command, past.Code, through.Code, past.Err, through.Both())
			}
			if past.Code == 0 {
				read++
			}
		}
		if read < 25 {
			t.Errorf("%d commands read anything", read)
		}
		h.Must("--name", "reads", "down")
		h.nothingLeft()
	})
}
