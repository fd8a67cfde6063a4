package deploy

// CSICredentials names the Secret with the credentials that the sandbox's own CSI driver reads: it is another one than the
// cloud controller manager's, which is in another namespace, and has the same keys.
func CSICredentials() (namespace, name string) {
	l := ownCSILayout()
	return l.SecretNamespace, l.SecretName
}
