package kube

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// ccm is the component of the first replica; the second is ccm-2.
const ccm = "ccm"

// which returns the parameter that chooses one of several cloud controller managers.
func which() fault.Param {
	return fault.Param{Name: "replica", Short: "of several, which: a number from 1, or the leader", Type: fault.Text, Default: "leader"}
}

// pick returns the component that the parameter chooses.
func pick(c *fault.Call) (one, error) {
	n := c.Ground.Processes.Replicas(ccm)
	if n == 0 {
		return one{}, fault.Refuse("the sandbox runs no cloud controller manager")
	}
	text := c.Params.Text("replica")
	if text == "leader" {
		if n == 1 {
			return one{ccm}, nil
		}
		if p, ok := c.Ground.Processes.(leader); ok {
			if name := p.Leader(ccm); name != "" {
				return one{name}, nil
			}
		}
		return one{}, fault.Refuse("none of the %d cloud controller managers is known to lead: choose one, replica=1 to %d", n, n)
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return one{}, &fault.Refusal{Code: "invalid", Message: fmt.Sprintf("parameter \"replica\": %q is neither a number from 1 nor leader", text)}
	}
	if number > n {
		return one{}, fault.Refuse("there are %d cloud controller managers, and no number %d", n, number)
	}
	return one{nth(number)}, nil
}

// restartAll restarts every cloud controller manager.
func restartAll(ctx context.Context, c *fault.Call) error {
	for n := range c.Ground.Processes.Replicas(ccm) {
		if err := restart(ctx, c, nth(n+1)); err != nil {
			return err
		}
	}
	return nil
}

// nth returns the name of a replica, from 1.
func nth(number int) string {
	if number == 1 {
		return ccm
	}
	return ccm + "-" + strconv.Itoa(number)
}

// ccmProcess is the aspect by which kinds exclude each other that stop or end the cloud controller manager.
const ccmProcess = "ccm-process"

func ccmKilled() *fault.Kind {
	return killed(fault.Kind{
		Name: "ccm.killed", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Aspect: ccmProcess,
		Short: "kills the cloud controller manager, which is started again after a while",
		Long: "As the kernel does when memory runs out: it has no time to log out of the vCenters or to give its lease back. " +
			"Of several another one takes over when the lease has run out. Nodes must not notice.",
		Params:   []fault.Param{which()},
		Reported: []string{"cloud-provider-vsphere#621"},
	}, pick)
}

func ccmPaused() *fault.Kind {
	return paused(fault.Kind{
		Name: "ccm.paused", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Aspect: ccmProcess,
		Short: "has the cloud controller manager stand still",
		Long: "It stops where it is, holding its connections. Nodes that come stay uninitialized, nodes whose VMs go are not tainted or deleted. " +
			"Of several another one takes over, and the one that was paused must find that it does not lead any more when it continues.",
		Params: []fault.Param{which()},
	}, pick)
}

func ccmUnreachable() *fault.Kind {
	return unreachable(fault.Kind{
		Name: "ccm.api-unreachable", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Aspect: "ccm-network",
		Short: "cuts the way of the cloud controller manager to the API server",
		Long: "It still reaches its vCenters, and knows of no Node any more. Of several the leader cannot renew its lease, ends, and another one takes over. " +
			"Healing mends the way; connections that packets were lost on are reset then.",
		Params: []fault.Param{silently(), which()},
	}, pick)
}

func ccmCrashLoop() *fault.Kind {
	return crashLoop(fault.Kind{
		Name: "ccm.crash-loop", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Aspect: ccmProcess,
		Short: "kills the cloud controller manager again and again, whenever it has come up",
		Long: "Each start logs in to every vCenter and lists all nodes, and no run lives long enough to log out: a test of what a crash loop costs the vCenters. " +
			"The supervisor waits longer after each crash. Healing starts it again at once.",
		Params: []fault.Param{lives(), which()},
	}, pick)
}

// scaled is the state of ccm.twice.
type scaled struct {
	Before int `json:"before"`
}

func ccmTwice() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "ccm.twice", Object: fault.Sandbox, Needs: []fault.Need{fault.Children}, Aspect: "ccm-replicas",
		Short: "starts more cloud controller managers, which elect a leader",
		Long: "As with a Deployment of two replicas, or a DaemonSet on several control-plane nodes. Only the leader may do anything to nodes. " +
			"Where one ran without an election it is started again. Healing ends those that are too many; the one that is left takes the lead, if it had it not.",
		Params: []fault.Param{{Name: "replicas", Short: "how many there are then", Type: fault.Number, Default: "2"}},
	}, fault.Steps[scaled]{
		Plan: func(_ context.Context, c *fault.Call) (scaled, string, error) {
			before, after := c.Ground.Processes.Replicas(ccm), c.Params.Number("replicas")
			switch {
			case before == 0:
				return scaled{}, "", fault.Refuse("the sandbox runs no cloud controller manager")
			case after <= before:
				return scaled{}, "", fault.Refuse("there are %d cloud controller managers already", before)
			}
			return scaled{before}, fmt.Sprintf("run %d cloud controller managers (there are %d)", after, before), nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *scaled) error {
			defer causing(c, ccm)()
			return c.Ground.Processes.Scale(ctx, ccm, c.Params.Number("replicas"))
		},
		Revert: func(ctx context.Context, c *fault.Call, s *scaled) error {
			defer causing(c, ccm)()
			if c.Ground.Processes.Replicas(ccm) <= s.Before {
				return nil
			}
			return c.Ground.Processes.Scale(ctx, ccm, s.Before)
		},
	})
}

// csiController is the CSI driver; the other [csiComponents] are the stock sidecars, and the syncer and the webhook of another project's driver.
const csiController = "csi-controller"

// csiComponents are the processes of a CSI driver's controller.
func csiComponents() []string {
	return []string{csiController, "csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller", "csi-syncer", "csi-webhook"}
}

// driver returns the component that is the target.
func driver(c *fault.Call) (one, error) {
	name := c.Target.Name
	first := strings.TrimSuffix(strings.TrimRight(name, "0123456789"), "-") // of replicas csi-attacher, csi-attacher-2, ...
	if !slices.Contains(csiComponents(), first) {
		return one{}, fault.Refuse("component %q: is no process of the CSI driver, which are %s", name, strings.Join(csiComponents(), ", "))
	}
	return one{name}, nil
}

// ofCSI sets the fields that all kinds of these components share.
func ofCSI(k fault.Kind) fault.Kind {
	k.Object, k.Needs = fault.Component, append([]fault.Need{fault.Children}, k.Needs...)
	return k
}

func csiKilled() *fault.Kind {
	return killed(ofCSI(fault.Kind{
		Name: "csi.killed", Aspect: "process",
		Short: "kills processes of the CSI driver, which are started again after a while",
		Long: "The driver (csi-controller) or a sidecar dies in the midst of what it does, as when memory runs out. vSphere continues what it has begun: a volume may be " +
			"made or attached, without a record of the request. The next start must find that out, and neither create it twice nor lose it.",
		Reported: []string{"vsphere-csi-driver#284", "vsphere-csi-driver#217"},
	}), driver)
}

func csiPaused() *fault.Kind {
	return paused(ofCSI(fault.Kind{
		Name: "csi.paused", Aspect: "process",
		Short: "has processes of the CSI driver stand still",
		Long: "Of csi-controller: calls of all sidecars wait, and time out after five minutes. Of a sidecar: what it is for does not happen; without csi-attacher volumes are " +
			"neither attached nor detached, without csi-provisioner neither made nor deleted. Pods that run do not notice.",
	}), driver)
}

func csiCrashLoop() *fault.Kind {
	return crashLoop(ofCSI(fault.Kind{
		Name: "csi.crash-loop", Aspect: "process",
		Short: "kills processes of the CSI driver again and again, whenever they have come up",
		Long: "As upstream's driver does that exits on a vCenter that it cannot reach, or on a node whose VM is gone. The supervisor waits longer after each crash. " +
			"Healing starts them again at once.",
		Params:   []fault.Param{lives()},
		Reported: []string{"vsphere-csi-driver#2594", "vsphere-csi-driver#3041"},
	}), driver)
}

func csiUnreachable() *fault.Kind {
	return unreachable(ofCSI(fault.Kind{
		Name: "csi.api-unreachable", Aspect: "network",
		Short: "cuts the way of processes of the CSI driver to the API server",
		Long: "They run, reach each other and the vCenters, and know of no claim, VolumeAttachment or node that comes from then on. " +
			"Healing mends the way; connections that packets were lost on are reset then.",
		Params: []fault.Param{silently()},
	}), driver)
}

func csiTokenRevoked() *fault.Kind {
	return tokenRevoked(ofCSI(fault.Kind{
		Name: "csi.token-revoked", Needs: []fault.Need{fault.Clustered}, Aspect: "token",
		Short: "deletes the ServiceAccounts of processes of the CSI driver, and their tokens with them",
		Long: "The API server takes a token for up to ten seconds more, while it remembers to have checked it; then every call is unauthorized, and what the process is for does " +
			"not happen. Healing creates the ServiceAccount again, hands out a new token, and starts the process again.",
	}), driver, func(ctx context.Context, c *fault.Call) error { return restart(ctx, c, c.Target.Name) })
}

func csiNodeDeleted() *fault.Kind {
	return fault.New(fault.Kind{
		Name: "node.csinode-deleted", Object: fault.Node, Needs: []fault.Need{fault.Clustered}, Aspect: "csinode",
		Short: "deletes the CSINode objects of nodes",
		Long: "What Kubernetes knows of a node's CSI drivers is in there: how many volumes it takes, and where it is. Without it no volume is attached to the node, and " +
			"csi-provisioner knows no topology of it. A kubelet makes one when it starts, or when a driver registers, and not at any other time. Healing restores it.",
		Reported: []string{"vsphere-csi-driver#453"},
	}, fault.Steps[storagev1.CSINode]{
		Plan: func(ctx context.Context, c *fault.Call) (before storagev1.CSINode, _ string, _ error) {
			n, err := c.Ground.Cluster.Client().StorageV1().CSINodes().Get(ctx, c.Target.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return before, "", fault.Refuse("CSINode %q not found", c.Target.Name)
			}
			if err != nil {
				return before, "", err
			}
			before = *n
			before.ObjectMeta = fresh(n.ObjectMeta)
			return before, "delete its CSINode", nil
		},
		Apply: func(ctx context.Context, c *fault.Call, _ *storagev1.CSINode) error {
			report(c, "object.changed", event.Object{Kind: "Node", Name: c.Target.Name}, "its CSINode: deleted")
			return c.Ground.Cluster.Client().StorageV1().CSINodes().Delete(ctx, c.Target.Name, metav1.DeleteOptions{})
		},
		Revert: func(ctx context.Context, c *fault.Call, before *storagev1.CSINode) error {
			n, err := c.Ground.Cluster.Client().CoreV1().Nodes().Get(ctx, c.Target.Name, metav1.GetOptions{})
			if err != nil {
				return unless(err, apierrors.IsNotFound)
			}
			back := before.DeepCopy()
			// The current Node: the garbage collector deletes what an older one owns.
			back.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}}
			_, err = c.Ground.Cluster.Client().StorageV1().CSINodes().Create(ctx, back, metav1.CreateOptions{})
			return unless(err, apierrors.IsAlreadyExists)
		},
	})
}
