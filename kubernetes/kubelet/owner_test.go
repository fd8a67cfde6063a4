package kubelet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/projected"
)

type fakeProjected struct {
	volume.VolumePlugin
	got *volume.MounterArgs
}

type fakeMounter struct {
	volume.Mounter
	got *volume.MounterArgs
}

func (f fakeProjected) NewMounter(*volume.Spec, *corev1.Pod) (volume.Mounter, error) {
	return fakeMounter{got: f.got}, nil
}

func (f fakeMounter) SetUp(args volume.MounterArgs) error {
	*f.got = args
	return nil
}

// Files of projected volumes are not given to the user of the pod; all other plugins stay as they are.
func TestKeepOwner(t *testing.T) {
	var got volume.MounterArgs
	other := configmap.ProbeVolumePlugins()[0]
	plugins := []volume.VolumePlugin{other, fakeProjected{projected.ProbeVolumePlugins()[0], &got}}
	keepOwner(plugins)
	m, err := plugins[1].NewMounter(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	user, group := int64(1000), int64(2000)
	if err := m.SetUp(volume.MounterArgs{FsUser: &user, FsGroup: &group}); err != nil || got.FsUser != nil || got.FsGroup != &group {
		t.Errorf("%+v, %v", got, err)
	}
	if plugins[0] != other {
		t.Errorf("%T", plugins[0])
	}
}
