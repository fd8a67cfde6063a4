package node

// Hang stops the guest where it stands, until [Node.Unhang], or until the VM is reset or powered off. It has no effect on
// a guest that does not run, and says so by returning false.
func (n *Node) Hang() bool {
	ok := false
	n.change(func() {
		ok = n.process == Running
		n.hung = n.hung || ok
	})
	return ok
}

// Unhang lets a hung guest go on. Any other is left alone.
func (n *Node) Unhang() { n.change(func() { n.hung = false }) }
