package kind

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// scribe is the image of the program that writes to a volume. Its name is no registry's, so it is never pulled.
const scribe = "localhost/vsphere-sandbox-test/scribe:v1"

// writer is a claim of 100 MiB, made as source says, and a Deployment of one pod that writes to its volume, held to us-east,
// where there are two workers. Both have that name.
func writer(name, source string) string {
	return `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ` + name + `}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 100Mi}}
` + source + `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: us-east}
      terminationGracePeriodSeconds: 1
      containers:
        - name: scribe
          image: ` + scribe + `
          imagePullPolicy: Never
          args: [/data/book, written on $(NODE)]
          env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
          securityContext: {runAsUser: 0}
          volumeMounts: [{name: data, mountPath: /data}]
      volumes:
        - {name: data, persistentVolumeClaim: {claimName: ` + name + `}}
`
}

// anywhere is a manifest of [writer] whose pod may run on any node.
func anywhere(manifest string) string {
	return strings.ReplaceAll(manifest, "      nodeSelector: {topology.kubernetes.io/zone: us-east}\n", "")
}

// picture is a snapshot of the volume of the claim book.
const picture = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: picture}
spec: {source: {persistentVolumeClaimName: book}}
`

// fromPicture is the source of a claim that is made of it.
const fromPicture = "  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: picture}"

// checkVolume runs a pod that writes to a volume, which is expanded and copied, powers its VM off, and reads the data
// where the pod is started again: once after the node was marked out of service, and once after the time-out for the pod
// that was removed by force.
func (s *sandbox) checkVolume() {
	s.T.Helper()
	s.give(scribe)
	begin := time.Now()
	s.Run("kubectl", "apply", "-f", s.File("book.yaml", writer("book", "")))
	s.await("the pod has the volume", 2*time.Minute, func() string { return s.inUse("book", "") })
	first := s.volume("book")
	s.await("it has written", time.Minute, func() string { return s.read("book", first.Node, "written on "+first.Node) })
	took(s.T, "from the claim to what is written", begin)
	if s.disk(first) == "" {
		s.T.Errorf("no disk of volume %s among those of VM %s: %+v", first.Name, first.VM, s.vms()[first.VM].Disks)
	}
	s.checkGrown(first)
	s.checkCopied(first)

	begin = time.Now()
	s.Run("vm", "power-off", first.VM)
	s.await("the volume is held by a node that is off", 3*time.Minute, func() string {
		if v := s.volume("book"); v.State != api.VolumeBlocked {
			return string(v.State) + " " + v.Waits
		}
		return ""
	})
	s.Run("taint", "out-of-service", first.Node)
	second := s.elsewhere(first, 3*time.Minute, "written on "+first.Node)
	took(s.T, "from the loss of power to the data elsewhere, out of service", begin)
	s.Run("kubectl", "taint", "node", first.Node, corev1.TaintNodeOutOfService+"-")
	s.Run("vm", "power-on", first.VM)
	s.await("all nodes are well", 2*time.Minute, s.unwell)

	begin = time.Now()
	s.Run("vm", "power-off", second.VM)
	s.await("the volume is held by the other node, which is off", 3*time.Minute, func() string {
		if v := s.volume("book"); v.State != api.VolumeBlocked {
			return string(v.State) + " " + v.Waits
		}
		return ""
	})
	// While the pod exists its volume is not detached: its node, or a user, must report its end.
	s.Run("kubectl", "delete", "pod", "--selector=app=book", "--field-selector=spec.nodeName="+second.Node, "--force", "--grace-period=0")
	s.elsewhere(second, patience, "written on "+first.Node, "written on "+second.Node)
	took(s.T, "from the loss of power to the data elsewhere, by force", begin)
	s.Run("vm", "power-on", second.VM)
	s.await("all nodes are well again", 2*time.Minute, s.unwell)

	s.Run("kubectl", "delete", "deployment/book", "pvc/book", "--wait=false")
	s.await("no volume is left", 2*time.Minute, func() string {
		if v := s.volume("book"); v.Name != "" {
			return v.Name + " is " + string(v.State)
		}
		return ""
	})
}

// patience is how long it may take until a volume is taken off a node by force: an image other than hack/kind-node's has
// upstream's six minutes.
const patience = 9 * time.Minute

// elsewhere waits until the pod has its volume on another node than before, with all that was written.
func (s *sandbox) elsewhere(before api.Volume, most time.Duration, lines ...string) api.Volume {
	s.T.Helper()
	s.await("the pod is elsewhere", most, func() string { return s.inUse("book", before.Node) })
	now := s.volume("book")
	lines = append(lines, "written on "+now.Node)
	s.await("what was written is there", time.Minute, func() string { return s.read("book", now.Node, lines...) })
	if now.VM == before.VM || now.Handle != before.Handle {
		s.T.Errorf("first %+v, then %+v", before, now)
	}
	if left := s.disk(api.Volume{VM: before.VM, Handle: before.Handle}); left != "" {
		s.T.Errorf("VM %s still has the disk %s", before.VM, left)
	}
	return now
}

// checkGrown grows the volume under the pod that writes to it.
func (s *sandbox) checkGrown(v api.Volume) {
	s.T.Helper()
	if !s.mayGrow(v.Node) {
		s.T.Log("not looked at: this machine withholds CAP_SYS_RESOURCE, without which Linux grows no ext4 file system that is mounted")
		return
	}
	size := func() int64 {
		out, err := docker("exec", s.container(v.Node), "sh", "-c", "df --block-size=1 --output=size /var/lib/kubelet/pods/*/volumes/kubernetes.io~csi/"+v.Name+"/mount | tail -n 1")
		if err != nil {
			s.T.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
		if err != nil {
			s.T.Fatal(err)
		}
		return n
	}
	before := size()
	s.Run("kubectl", "patch", "pvc", "book", "--type=merge", "--patch", `{"spec":{"resources":{"requests":{"storage":"200Mi"}}}}`)
	s.await("the volume has grown", 2*time.Minute, func() string {
		pvc := program.Kubectl[corev1.PersistentVolumeClaim](s.Sandbox, "get", "pvc", "book")
		if is := pvc.Status.Capacity[corev1.ResourceStorage]; is.Value() < 200<<20 {
			return "the claim has " + is.String()
		}
		return ""
	})
	if after := size(); after < before+64<<20 {
		s.T.Errorf("the pod's file system has %d bytes, and had %d before its volume was grown by 100 MiB", after, before)
	}
}

// mayGrow reports whether a node's programs have the capability that Linux requires to grow a mounted ext4 file system.
func (s *sandbox) mayGrow(node string) bool {
	s.T.Helper()
	const resource = 24 // CAP_SYS_RESOURCE
	out, err := docker("exec", s.container(node), "sed", "-n", "s/^CapBnd:[[:space:]]*//p", "/proc/1/status")
	if err != nil {
		s.T.Fatal(err)
	}
	bound, err := strconv.ParseUint(strings.TrimSpace(out), 16, 64)
	if err != nil {
		s.T.Fatal(err)
	}
	return bound>>resource&1 == 1
}

// checkCopied makes a snapshot of the volume, and another volume of that, which has the same in it.
func (s *sandbox) checkCopied(v api.Volume) {
	s.T.Helper()
	s.Run("kubectl", "apply", "-f", s.File("picture.yaml", picture))
	s.await("there is a snapshot", 2*time.Minute, func() string {
		p := program.Kubectl[struct {
			Status struct {
				ReadyToUse bool
				Error      struct{ Message string }
			}
		}](s.Sandbox, "get", "volumesnapshot", "picture")
		if !p.Status.ReadyToUse {
			return "not ready " + p.Status.Error.Message
		}
		return ""
	})
	capacity := program.Kubectl[corev1.PersistentVolumeClaim](s.Sandbox, "get", "pvc", "book").Status.Capacity[corev1.ResourceStorage]
	s.Run("kubectl", "apply", "-f", s.File("copy.yaml", strings.Replace(writer("copy", fromPicture), "100Mi", capacity.String(), 1)))
	s.await("a pod has a volume made of it", 2*time.Minute, func() string { return s.inUse("copy", "") })
	copied := s.volume("copy")
	s.await("what was written is in it", time.Minute, func() string { return s.read("copy", copied.Node, "written on "+v.Node) })
	s.Run("kubectl", "delete", "deployment/copy", "pvc/copy", "volumesnapshot/picture", "--wait=false")
	s.await("the copy is gone", 2*time.Minute, func() string {
		if v := s.volume("copy"); v.Name != "" {
			return v.Name + " is " + string(v.State)
		}
		return ""
	})
}

// inUse returns why a claim's volume is not in use on another node than not, or "".
func (s *sandbox) inUse(claim, not string) string {
	v := s.volume(claim)
	if v.State != api.VolumeInUse || v.Node == not {
		return string(v.State) + " on " + v.Node + ": " + v.Waits
	}
	return ""
}

// disk is where the volume's disk is in its VM, "" when it is not there.
func (s *sandbox) disk(v api.Volume) string {
	for _, d := range s.vms()[v.VM].Disks {
		if d.Volume == v.Handle {
			return d.File
		}
	}
	return ""
}

// read returns why a Deployment's pod on a node has not logged all of these lines, in this order, or "". It reads the log
// files on the node, without the kubelet.
func (s *sandbox) read(name, node string, lines ...string) string {
	out, err := docker("exec", s.container(node), "sh", "-c", "cat /var/log/pods/default_"+name+"-*/scribe/*.log")
	if err != nil {
		return err.Error()
	}
	rest := out
	for _, line := range lines {
		_, after, ok := strings.Cut(rest, line)
		if !ok {
			return "no \"" + line + "\" in " + out
		}
		rest = after
	}
	if !strings.Contains(rest, "that is all") {
		return "not all has been said: " + out
	}
	return ""
}

// packed builds a program of these tests, in the folder of its name, and returns the archive of its image.
func packed(t *testing.T, name, as string) (archive string) {
	t.Helper()
	dir := t.TempDir()
	program, archive := filepath.Join(dir, name), filepath.Join(dir, name+".tar")
	build := exec.Command("go", "build", "-o", program, "./"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	set, err := image.FromProgram(t.Context(), program, "/"+name, as)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.WriteFile(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	return archive
}

// give builds the program of a test, whose folder has the name of the image, and gives all nodes that image.
func (s *sandbox) give(name string) {
	s.T.Helper()
	folder, _, _ := strings.Cut(path.Base(name), ":")
	archive := packed(s.T, folder, name)
	for _, c := range s.containers() {
		f, err := os.Open(archive)
		if err != nil {
			s.T.Fatal(err)
		}
		_, err = dockerWith(f, "exec", "-i", c, "ctr", "--namespace", "k8s.io", "images", "import", "--digests", "-")
		f.Close()
		if err != nil {
			s.T.Fatal(err)
		}
	}
}
