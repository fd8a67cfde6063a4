package deploy

import "slices"

// ManifestImages lists the images that the pods of a manifest run, each once: those that nodes need to have.
func ManifestImages(manifest []byte) ([]string, error) {
	all, err := parse("manifest", manifest)
	if err != nil {
		return nil, err
	}
	var images []string
	for _, o := range all {
		if !isWorkload(o) {
			continue
		}
		pod, err := podOf(o)
		if err != nil {
			return nil, named(o, err)
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if !slices.Contains(images, c.Image) {
				images = append(images, c.Image)
			}
		}
	}
	return images, nil
}
