package node

import "path/filepath"

// Mounts returns where a kubelet with that root directory has mounted a PersistentVolume, by the UID of the pod. The
// paths may have been removed: a kubelet removes them when it can.
func Mounts(root, volume string) map[string]string {
	found, err := filepath.Glob(filepath.Join(root, "pods", "*", "volumes", "kubernetes.io~csi", volume, "mount"))
	if err != nil { // a name with a pattern, which PersistentVolumes do not have
		return nil
	}
	paths := map[string]string{}
	for _, path := range found {
		pod := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		paths[filepath.Base(pod)] = path
	}
	return paths
}
