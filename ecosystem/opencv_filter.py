"""Filters an image with OpenCV. Argument: how often."""

import sys

import cv2
import numpy as np

image = np.random.default_rng(0).integers(0, 255, (360, 640, 3), dtype=np.uint8)
for _ in range(int(sys.argv[1])):
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    cv2.Canny(cv2.GaussianBlur(grey, (7, 7), 0), 50, 150)
    cv2.resize(image, (320, 180))
