package node

import "path/filepath"

// Mounts returns where a kubelet with that root directory has mounted a PersistentVolume, by the UID of the pod. Paths need
// not exist any more: a kubelet removes them when it can.
func Mounts(root, volume string) map[string]string {
	found, err := filepath.Glob(filepath.Join(root, "pods", "*", "volumes", "kubernetes.io~csi", volume, "mount"))
	if err != nil { // a name that is a pattern, which no PersistentVolume's is
		return nil
	}
	paths := map[string]string{}
	for _, path := range found {
		pod := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		paths[filepath.Base(pod)] = path
	}
	return paths
}
