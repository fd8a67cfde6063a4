package kind

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// filePair is two workers of a cluster with a file service.
const filePair = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: filepair}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          region: us
          zone: us-east
          clusters: [{name: compute, vsan: {fileService: true}, hosts: [{name: "esx-{n}", replicas: 2}]}]
          datastores: [{name: vsan, type: vsan, clusters: [compute]}]
          vms: [{name: "worker-{n}", replicas: 2, role: worker}]
`

// board is a claim that several nodes mount at a time, and one pod on each worker that adds a line to the same file.
const board = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: board}
spec:
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 100Mi}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: board}
spec:
  selector: {matchLabels: {app: board}}
  template:
    metadata: {labels: {app: board}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {topology.kubernetes.io/zone: us-east}
      containers:
        - name: scribe
          image: ` + scribe + `
          imagePullPolicy: Never
          args: [/data/book, written on $(NODE)]
          env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
          securityContext: {runAsUser: 0}
          volumeMounts: [{name: data, mountPath: /data}]
      volumes:
        - {name: data, persistentVolumeClaim: {claimName: board}}
`

// A share of a file service is written on one node and read on another, where volumes are block devices and where they are
// directories; nothing of it is left when the claim goes.
func TestShares(t *testing.T) {
	for _, volumes := range []string{"auto", "dir"} {
		t.Run(volumes, func(t *testing.T) {
			h := newHome(t)
			s := h.up("shares", h.File("filepair.yaml", filePair), "--kind-volumes", volumes)
			s.give(scribe)
			s.Run("kubectl", "apply", "-f", s.File("board.yaml", board))
			s.await("both pods have written, and one has read both lines", 3*time.Minute, func() string {
				var said []string
				for _, p := range program.Kubectl[corev1.PodList](s.Sandbox, "get", "pods", "--selector=app=board").Items {
					if p.Status.Phase == corev1.PodRunning {
						said = append(said, s.Run("kubectl", "logs", p.Name))
					}
				}
				for _, text := range said {
					if len(said) == 2 && strings.Contains(text, "written on worker-1") && strings.Contains(text, "written on worker-2") {
						return ""
					}
				}
				return strings.Join(said, "\n")
			})
			if v := s.volume("board"); !strings.HasPrefix(v.Handle, "file:") {
				t.Errorf("volume %+v is no share", v)
			}
			s.Run("kubectl", "delete", "daemonset/board", "pvc/board", "--wait=false")
			s.await("no volume is left", 2*time.Minute, func() string {
				if v := s.volume("board"); v.Name != "" {
					return v.Name + " is " + string(v.State)
				}
				return ""
			})
			s.Run("down")
			h.nothingLeft()
		})
	}
}
