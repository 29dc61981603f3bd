package vitals

// Space returns how many bytes of the disk that holds a folder are free for this
// process, and how many it has.
func Space(folder string) (free, size uint64, err error) { return space(folder) }

// disk returns the fact about a folder's disk; false if its size is unknown.
func disk(folder string) (Fact, bool) {
	free, size, err := Space(folder)
	if err != nil || size == 0 {
		return Fact{}, false
	}
	return Fact{Name: Disk, Subject: folder, Level: diskLevel(free, size), Value: float64(free), Of: float64(size)}, true
}

func diskLevel(free, size uint64) Level {
	switch share := float64(free) / float64(size); {
	case share < diskFull:
		return Critical
	case share < diskLow:
		return Warning
	default:
		return OK
	}
}
