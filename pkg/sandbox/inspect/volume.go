package inspect

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/storage"
)

// cluster is the API server that is asked for the sake of one explanation. It implements [explain.Cluster].
type cluster struct{ kubernetes.Interface }

// Node implements [explain.Cluster].
func (a cluster) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return found(a.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}))
}

// Heartbeat implements [explain.Cluster].
func (a cluster) Heartbeat(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	return found(a.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, node, metav1.GetOptions{}))
}

// found is nil for what is not there.
func found[T any](object *T, err error) (*T, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return object, nil
}

func (i *Inspector) explainVolume(ctx context.Context, r api.Subject) (api.Explanation, error) {
	row, err := storage.Find(i.Volumes(), r.Name)
	if err != nil {
		return api.Explanation{}, err
	}
	return i.volumeCase(ctx, row).Explain(), nil
}

// volumeCase gathers all that an explanation of a volume needs.
func (i *Inspector) volumeCase(ctx context.Context, row api.Volume) explain.Volume {
	c := explain.Volume{Around: i.Sources(row.Name).Around, Row: row}
	if client := i.Kubernetes(); client != nil {
		v := volumeObjects{cluster{client}, row}
		together(ctx,
			func(ctx context.Context) { c.Claim.Is, c.Claim.Err = v.claim(ctx) },
			func(ctx context.Context) { c.Volume.Is, c.Volume.Err = v.volume(ctx) },
			func(ctx context.Context) { c.Attachments.Is, c.Attachments.Err = v.attachments(ctx) },
			func(ctx context.Context) { c.Pods.Is, c.Pods.Err = v.pods(ctx) },
			func(ctx context.Context) { c.Disk.Is, c.Disk.Err = i.cnsVolume(ctx, row.Handle) },
			func(ctx context.Context) { c.Holders.Is, c.Holders.Err = i.holders(ctx, row.Handle) },
		)
	}
	for _, n := range i.World().Nodes() {
		if n.Name == row.Node && n.Registered {
			c.Node = &n
		}
	}
	for _, d := range i.Components() {
		if strings.HasPrefix(d.Name, "csi") {
			c.Drivers = append(c.Drivers, d)
		}
	}
	return c
}

// together asks several at once, each within [explain.Patience].
func together(ctx context.Context, asks ...func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, explain.Patience)
	defer cancel()
	var wg sync.WaitGroup
	for _, f := range asks {
		wg.Go(func() { f(ctx) })
	}
	wg.Wait()
}

// volumeObjects are the objects of the API server that belong to a volume.
type volumeObjects struct {
	cluster
	row api.Volume
}

func (v volumeObjects) claim(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
	namespace, name, ok := strings.Cut(v.row.Claim, "/")
	if !ok {
		return nil, nil
	}
	return found(v.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{}))
}

func (v volumeObjects) volume(ctx context.Context) (*corev1.PersistentVolume, error) {
	if v.row.Name == v.row.Claim { // a claim that has none yet
		return nil, nil
	}
	return found(v.CoreV1().PersistentVolumes().Get(ctx, v.row.Name, metav1.GetOptions{}))
}

func (v volumeObjects) attachments(ctx context.Context) ([]storagev1.VolumeAttachment, error) {
	list, err := v.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(a storagev1.VolumeAttachment) bool {
		of := a.Spec.Source.PersistentVolumeName
		return of == nil || *of != v.row.Name
	}), nil
}

// pods are those of the row, which knows who uses the claim.
func (v volumeObjects) pods(ctx context.Context) (list []corev1.Pod, err error) {
	for _, id := range v.row.Pods {
		namespace, name, _ := strings.Cut(id, "/")
		p, err := found(v.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{}))
		if err != nil {
			return list, err
		}
		if p != nil {
			list = append(list, *p)
		}
	}
	return list, nil
}

// cnsVolume asks every vCenter's CNS for a volume; nil when none has it. One that cannot be asked may have it.
func (i *Inspector) cnsVolume(ctx context.Context, id string) (*explain.Disk, error) {
	vc, v, err := i.queryCNS(ctx, id)
	if v == nil {
		return nil, err
	}
	d := &explain.Disk{VCenter: vc, ID: id, Name: v.Name, Health: v.HealthStatus}
	if v.BackingObjectDetails != nil {
		d.CapacityBytes = v.BackingObjectDetails.GetCnsBackingObjectDetails().CapacityInMb << 20
	}
	switch details := v.BackingObjectDetails.(type) {
	case *cnstypes.CnsBlockBackingDetails:
		d.File = details.BackingDiskPath
	case *cnstypes.CnsVsanFileShareBackingDetails:
		if len(details.AccessPoints) > 0 {
			d.File = details.AccessPoints[len(details.AccessPoints)-1].Value
		}
	}
	for _, ds := range i.Datastores() {
		if ds.VCenter == vc && ds.URL == v.DatastoreUrl {
			d.Datastore = ds.Name
		}
	}
	return d, nil
}

// queryCNS asks every vCenter's CNS for a volume.
func (i *Inspector) queryCNS(ctx context.Context, id string) (where string, v *cnstypes.CnsVolume, failed error) {
	if id == "" {
		return "", nil, nil
	}
	var mu sync.Mutex
	var asks []func(context.Context)
	for _, vc := range i.VCenters() {
		asks = append(asks, func(ctx context.Context) {
			var found []cnstypes.CnsVolume
			err := vc.Client.Do(ctx, func(ctx context.Context, session *vcenter.Session) error {
				client, err := cns.NewClient(ctx, session.Vim)
				if err != nil {
					return err
				}
				result, err := client.QueryVolume(ctx, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}})
				if err == nil {
					found = result.Volumes
				}
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = err
			case len(found) > 0:
				where, v = vc.Row.Name, &found[0]
			}
		})
	}
	together(ctx, asks...)
	if v != nil {
		failed = nil
	}
	return where, v, failed
}

// holders finds the VMs that have the disk of a volume, each read again.
func (i *Inspector) holders(ctx context.Context, id string) (list []explain.Holder, err error) {
	if id == "" {
		return nil, nil
	}
	for _, v := range i.World().VMs() {
		if !slices.ContainsFunc(v.Disks, func(d api.Disk) bool { return d.Volume == id }) {
			continue
		}
		m, err := i.reader(v.VCenter).machine(ctx, v.Ref, map[ref]entity{})
		if vcenter.Gone(err) {
			continue
		}
		if err != nil {
			return list, err
		}
		for _, d := range m.Disks {
			if d.Volume == id {
				list = append(list, explain.Holder{VM: m.VCenter + "/" + m.Name, Power: m.Power, Disk: d})
			}
		}
	}
	return list, nil
}
