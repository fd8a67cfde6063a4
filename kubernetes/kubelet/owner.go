package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/projected"
)

// keepOwner makes the projected volumes of pods with runAsUser keep this process's user as their owner. An unprivileged process
// cannot give files away, and such pods would never start.
func keepOwner(plugins []volume.VolumePlugin) {
	name := projected.ProbeVolumePlugins()[0].GetPluginName()
	for i, p := range plugins {
		if p.GetPluginName() == name {
			plugins[i] = ownerPlugin{p}
		}
	}
}

type ownerPlugin struct{ volume.VolumePlugin }

func (p ownerPlugin) NewMounter(spec *volume.Spec, pod *corev1.Pod) (volume.Mounter, error) {
	m, err := p.VolumePlugin.NewMounter(spec, pod)
	if err != nil {
		return nil, err
	}
	return ownerMounter{m}, nil
}

type ownerMounter struct{ volume.Mounter }

func (m ownerMounter) SetUp(args volume.MounterArgs) error {
	args.FsUser = nil
	return m.Mounter.SetUp(args)
}
