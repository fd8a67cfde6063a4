// Package tutorials has the tutorials in it: their pages, and the files that they use, so that a reader needs the program
// alone.
//
//	pages, err := tutorial.Pages(tutorials.FS(), "tutorials")
//
// What is read and run is package tutorial's business. Floor 0: it imports nothing of this module.
package tutorials
