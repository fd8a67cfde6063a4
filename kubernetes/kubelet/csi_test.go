package kubelet

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi"
	volumetest "k8s.io/kubernetes/pkg/volume/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
)

const (
	testNode = "worker-1"
	testVM   = "42000000-0000-4000-8000-000000000001"
	testDisk = "6000c29a000000000000000000000001"
	testPV   = "pvc-1"
	gib      = 1 << 30
)

// kubelet's own volume plugin, as kubelet runs it: the plugin watcher finds the registration socket, the driver gets into
// CSINode, and a volume is mounted for a pod, measured, expanded and unmounted.
func TestVolume(t *testing.T) {
	root, err := os.MkdirTemp("", "csi") // a path that is short, for the sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	ctx, end := context.WithCancel(t.Context())
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	content, byID := filepath.Join(root, "disk"), filepath.Join(root, "by-id")
	ok(disk.Create(content, gib))
	ok(os.Mkdir(byID, 0o700))
	ok(os.Symlink(content, filepath.Join(byID, names.DeviceLink(testDisk))))

	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: testNode, UID: "node-uid"}}, attachment())
	cfg := contract.Node{Name: testNode, RootDir: root, SystemUUID: testVM, CSI: &contract.CSINode{ByIDDir: byID, Boot: "1", MaxVolumes: 7}}
	driver, err := newCSI(ctx, cfg, client, cfg.SystemUUID)
	ok(err)
	ended := make(chan error, 1)
	go func() { ended <- driver.Run(ctx) }()
	t.Cleanup(func() {
		end()
		ok(<-ended)
	})

	drivers := informers.NewSharedInformerFactory(client, 0).Storage().V1().CSIDrivers().Lister()
	host := volumetest.NewFakeKubeletVolumeHostWithCSINodeName(t, root, client, csi.ProbeVolumePlugins(), testNode, drivers, nil)
	manager := pluginmanager.NewPluginManager(filepath.Join(root, "plugins_registry"), record.NewFakeRecorder(100))
	manager.AddHandler(registerapi.CSIPlugin, cache.PluginHandler(csi.PluginHandler))
	go manager.Run(ctx, nil, ctx.Done())

	n := registered(t, client)
	if n.NodeID != testVM || n.Allocatable == nil || *n.Allocatable.Count != 7 {
		t.Errorf("%+v", n)
	}

	plugin, err := host.GetPluginMgr().FindPluginByName(csi.CSIPluginName)
	ok(err)
	spec := volume.NewSpecFromPersistentVolume(persistentVolume(), false)
	devices, isDevice := plugin.(volume.DeviceMountableVolumePlugin)
	if !isDevice {
		t.Fatalf("%T mounts no devices", plugin)
	}
	device, err := devices.NewDeviceMounter()
	ok(err)
	global, err := device.GetDeviceMountPath(spec)
	ok(err)
	ok(device.MountDevice(spec, "", global, volume.DeviceMounterArgs{}))

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "pod-uid", Name: "pod", Namespace: "default"}}
	mounter, err := plugin.NewMounter(spec, pod)
	ok(err)
	group := int64(2000)
	for range 2 {
		ok(mounter.SetUp(volume.MounterArgs{FsGroup: &group}))
	}
	ok(os.WriteFile(filepath.Join(mounter.GetPath(), "file"), []byte("content"), 0o600))
	if b, err := os.ReadFile(filepath.Join(content, "data", "file")); string(b) != "content" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	m, err := mounter.GetMetrics()
	ok(err)
	if m.Capacity.Value() != gib || m.Used.Value() != 7 {
		t.Errorf("capacity %s, used %s", m.Capacity, m.Used)
	}

	ok(disk.Resize(content, 2*gib))
	grown, err := plugin.(volume.NodeExpandableVolumePlugin).NodeExpand(volume.NodeResizeOptions{
		VolumeSpec: spec, DeviceMountPath: mounter.GetPath(), DeviceStagePath: global, NewSize: resource.MustParse("2Gi"),
	})
	if !grown || err != nil {
		t.Errorf("%t %v", grown, err)
	}

	unmounter, err := plugin.NewUnmounter(testPV, pod.UID)
	ok(err)
	ok(unmounter.TearDown())
	unmount, err := devices.NewDeviceUnmounter()
	ok(err)
	ok(unmount.UnmountDevice(global))
	for _, path := range []string{filepath.Dir(mounter.GetPath()), filepath.Dir(global)} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(content, "data", "file")); string(b) != "content" || err != nil {
		t.Errorf("%q %v", b, err)
	}
}

// registered waits until the driver is in the node's CSINode.
func registered(t *testing.T, client *fake.Clientset) storagev1.CSINodeDriver {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		n, err := client.StorageV1().CSINodes().Get(t.Context(), testNode, metav1.GetOptions{})
		if err == nil && len(n.Spec.Drivers) == 1 && n.Spec.Drivers[0].Name == names.Driver {
			return n.Spec.Drivers[0]
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the driver was not registered: %+v %v", n, err)
		}
	}
}

func persistentVolume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: testPV},
		Spec: corev1.PersistentVolumeSpec{
			VolumeMode:  new(corev1.PersistentVolumeFilesystem),
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: names.Driver, VolumeHandle: "v1", FSType: "ext4"},
			},
		},
	}
}

// attachment is what the attach-detach controller and the attacher have left for kubelet.
func attachment() *storagev1.VolumeAttachment {
	pv := testPV
	sum := sha256.Sum256([]byte("v1" + names.Driver + testNode))
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("csi-%x", sum)},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: names.Driver, NodeName: testNode, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv},
		},
		Status: storagev1.VolumeAttachmentStatus{
			Attached: true, AttachmentMetadata: map[string]string{names.AttributeType: names.BlockVolume, names.DiskUUID: testDisk},
		},
	}
}
